import { useMemo } from "react";

import { useApp } from "../../app/context";
import { Failure } from "../../app/Failure";
import { useTable } from "../../app/useTable";
import { GROUPS } from "../communication/groups";
import { layoutOf } from "./layout";

/** Which ranks work together. */
export function Parallel() {
  const { t, theme } = useApp();
  const groups = useTable(GROUPS);
  const kinds = useMemo(() => (groups.data ? layoutOf(groups.data) : []), [groups.data]);
  if (groups.error) return <Failure of={groups} />;
  if (kinds.length === 0) return null;
  return (
    <>
      <div className="toolbar">
        <b>{t("summary.layout")}</b>
      </div>
      <dl className="layout" data-testid="layout">
        {kinds.map((kind) => (
          <div key={kind.name}>
            <dt>{kind.name || "–"}</dt>
            <dd>
              {kind.groups.map((group, i) => (
                <span
                  key={group.join()}
                  style={{ background: theme.bars[i % theme.bars.length], color: theme.barText }}
                >
                  {group.length > 16 ? `${group[0]} … ${group.at(-1)} (${group.length})` : group.join(" ")}
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
