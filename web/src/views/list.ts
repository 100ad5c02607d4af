import type { View } from "../app/view";
import { adviceView } from "./advice/Advice";
import { communicationView } from "./communication/Communication";
import { compareView } from "./compare/Compare";
import { expertsView } from "./experts/Experts";
import { groupsView } from "./groups/Groups";
import { linksView } from "./links/Links";
import { liveView } from "./live/Live";
import { memoryView } from "./memory/Memory";
import { modulesView } from "./modules/Modules";
import { operatorsView } from "./operators/Operators";
import { pipelineView } from "./pipeline/Pipeline";
import { ranksView } from "./ranks/Ranks";
import { servingView } from "./serving/Serving";
import { sqlView } from "./sql/Sql";
import { summaryView } from "./summary/Summary";
import { tablesView } from "./tables/Tables";
import { timelineView } from "./timeline/Timeline";
import { valuesView } from "./values/Values";

/** The views, in the order of their tabs. */
export const views: readonly View[] = [
  timelineView,
  summaryView,
  adviceView,
  compareView,
  operatorsView,
  modulesView,
  memoryView,
  communicationView,
  ranksView,
  groupsView,
  linksView,
  pipelineView,
  expertsView,
  servingView,
  valuesView,
  tablesView,
  sqlView,
  liveView,
];
