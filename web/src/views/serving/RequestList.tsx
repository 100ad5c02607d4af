import type { TableMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Failure } from "../../app/Failure";
import { useTable } from "../../app/useTable";
import type { Measure } from "./measures";
import { missedBy, missedStatement } from "./objectives";
import { stepPartStatement, stepSentenceStatement, whyStatement } from "./paths";
import { OverTime } from "./OverTime";
import type { Request } from "./requests";
import { useDetail } from "./useDetail";

const LISTS = { "": "serving.requests", steps: "serving.onestep", time: "serving.overtime" } as const;

interface Properties {
  trace: number;
  requests: readonly Request[];
  measure: Measure;
  steps: TableMessage | null;
}

/** Below the charts: all requests, what one engine step does, or the course of the session. */
export function RequestList({ trace, requests, measure, steps }: Properties) {
  const { t } = useApp();
  const [shown, show] = useDetail("list");
  const [objectives, setObjectives] = useDetail("slo");
  const missed = missedBy(objectives);
  return (
    <>
      <div className="toolbar">
        {(Object.keys(LISTS) as (keyof typeof LISTS)[]).map((name) => (
          <button
            key={name}
            aria-pressed={shown === name}
            data-testid={`serving-list-${name || "requests"}`}
            onClick={() => show(name)}
          >
            {t(LISTS[name])}
          </button>
        ))}
        {shown === "" && (
          <>
            <input
              type="text"
              value={objectives}
              placeholder="ttft=500ms,itl=50ms,e2e=2s"
              title={t("serving.objectives.help")}
              aria-label={t("serving.objectives")}
              aria-invalid={objectives !== "" && missed === null}
              onChange={(event) => setObjectives(event.target.value)}
            />
            {missed !== null && <Missed trace={trace} missed={missed} />}
            {objectives !== "" && missed === null && (
              <span className="muted" data-testid="serving-objectives-bad">
                {t("serving.objectives.bad")}
              </span>
            )}
          </>
        )}
      </div>
      {shown === "" && <Requests trace={trace} missed={missed} />}
      {shown === "steps" && <OneStep trace={trace} />}
      {shown === "time" && <OverTime requests={requests} measure={measure} steps={steps} />}
    </>
  );
}

function Requests({ trace, missed }: { trace: number; missed: string | null }) {
  const sql = whyStatement(
    useAppState((s) => s.language),
    missed,
  );
  const table = useTable({ sql, trace, limit: 20_000 });
  return <DataTable name="requests" answer={table} trace={trace} sql={sql} testId="serving-requests" />;
}

/** How many requests miss an objective, and why. */
function Missed({ trace, missed }: { trace: number; missed: string }) {
  const { t } = useApp();
  const language = useAppState((s) => s.language);
  const found = useTable({ sql: missedStatement(missed, language), trace, limit: 100 });
  if (!found.data) return <Failure of={found} />;
  const rows = found.data.rows;
  const count = rows.reduce((sum, row) => sum + Number(row[1]), 0);
  const reasons = rows.filter((row) => row[0] !== null).map((row) => `${String(row[0])} ${String(row[1])}`);
  return (
    <span data-testid="serving-missed">
      {count === 0
        ? t("serving.objectives.met")
        : t("serving.objectives.missed", count, Number(rows[0]![2]), reasons.join(", "))}
    </span>
  );
}

/** The median engine step of each kind next to the slowest, part by part; a row leads to the slowest. */
function OneStep({ trace }: { trace: number }) {
  const language = useAppState((s) => s.language);
  const sql = stepPartStatement(language);
  const table = useTable({ sql, trace, limit: 100 });
  const sentences = useTable({ sql: stepSentenceStatement(language), trace, limit: 10 });
  return (
    <>
      <Failure of={sentences} />
      {sentences.data?.rows.map(([sentence], i) => (
        <p key={i} className="hint" data-testid="step-sentence">
          {String(sentence)}
        </p>
      ))}
      <DataTable name="step-parts" answer={table} trace={trace} sql={sql} testId="step-parts" />
    </>
  );
}
