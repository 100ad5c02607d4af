// A trace in a lake (store/lake.h), named by the path of one of its files: its rows become a store
// as any other. It is in no list, since folders of lakes are searched for nothing: who opens a lake
// names it. See importers/importer.h.
#pragma once

#include "importers/importer.h"

namespace sonde::importers {

extern const Importer kLakeTrace;

}  // namespace sonde::importers
