import { useMemo } from "react";

import { useApp } from "../../app/context";
import { Failure } from "../../app/Failure";
import { useRanks } from "../../app/useRanks";
import { layoutOf } from "./layout";

const GROUPS = "SELECT name, coalesce(description, '') AS description, rank_list FROM communication_group";

/** Which ranks work together. */
export function Parallel() {
  const { t, theme } = useApp();
  const { answers, failed } = useRanks({ sql: GROUPS });
  const kinds = useMemo(() => layoutOf(answers.map((answer) => answer.table)), [answers]);
  if (failed) return <Failure of={failed} />;
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
