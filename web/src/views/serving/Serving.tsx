import { useMemo } from "react";

import type { TableMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { Chart } from "../../app/Chart";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { isReady } from "../../app/traces";
import { useSchema, useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { formatCount, formatDuration, formatNumber, formatShare } from "../../base/format";
import { MEASURES, valueOf, valuesOf } from "./measures";
import {
  type Request,
  histogram,
  othersStatement,
  partStatement,
  percentile,
  rankOperatorStatement,
  rankStepStatement,
  requestStatement,
  requestsOf,
  stepStatement,
  tokenRate,
  tokenStatement,
} from "./requests";
import { colorOfPart, partsStatement, pauseStatement, requestAt, waitStatement, waitsOf } from "./paths";
import { RequestList } from "./RequestList";
import { useDetail } from "./useDetail";
import { Waterfall } from "./Waterfall";

const WITH_REQUESTS = { sql: "SELECT DISTINCT trace FROM request", trace: -1 };
function Serving() {
  const { t } = useApp();
  // Stores of servers only have them.
  const schema = useSchema();
  if (!schema.data) return <Failure of={schema} />;
  const has = schema.data.some((table) => table.name === "request");
  return has ? <Servers /> : <Empty title={t("serving.none")} help={t("serving.none.help")} />;
}

/** The traces that hold requests. */
function Servers() {
  const { t } = useApp();
  const traces = useAppState((s) => s.session!.traces);
  // Tables of a single trace have no column with its number.
  const ready = traces.filter(isReady);
  const found = useTable(ready.length > 1 ? WITH_REQUESTS : null);
  const [chosen, choose] = useDetail("serving");
  const ids = new Set(found.data?.rows.map(([id]) => id));
  const servers = ready.length > 1 ? ready.filter(({ id }) => ids.has(id)) : ready;
  const server = servers.find(({ id }) => String(id) === chosen) ?? servers[0];
  if (!server) {
    if (found.error) return <Failure of={found} />;
    if (!found.data) return <Empty title="…" help="" />;
    return <Empty title={t("serving.none")} help={t("serving.none.help")} />;
  }
  const select = servers.length > 1 && (
    <select value={server.id} aria-label={t("serving.server")} onChange={(event) => choose(event.target.value)}>
      {servers.map((trace) => (
        <option key={trace.id} value={trace.id}>
          {trace.name}
        </option>
      ))}
    </select>
  );
  return <Server key={server.id} trace={server.id} select={select} />;
}

function Server({ trace, select }: { trace: number; select: React.ReactNode }) {
  const { t, theme } = useApp();
  const base = useAppState((s) => s.session!.base);
  const [measureText, setMeasure] = useDetail("measure");
  const [requestText, setRequest] = useDetail("request");
  const measure = MEASURES.find((name) => name === measureText) ?? "TTFT";
  const table = useTable({ sql: requestStatement(base), trace, limit: 100_000 });
  const tokens = useTable({ sql: tokenStatement(base), trace, limit: 100_000 });
  const steps = useTable({ sql: stepStatement(base), trace, limit: 100_000 });
  const language = useAppState((s) => s.language);
  const waits = useTable({ sql: waitStatement(base, language), trace, limit: 20_000 });
  const pauses = useTable({ sql: pauseStatement(base), trace, limit: 2_000 });
  const waitsOfRequests = useMemo(() => waitsOf(waits.data ?? null), [waits.data]);
  const requests = useMemo(
    () => (table.data ? requestsOf(table.data, tokens.data ?? null) : []),
    [table.data, tokens.data],
  );
  const selected = requestText === "" ? null : Number(requestText);
  const values = useMemo(() => valuesOf(requests, measure), [requests, measure]);
  const bars = useMemo(() => histogram(values, 30), [values]);
  return (
    <div className="page">
      <div className="peaks" data-testid="serving-facts">
        <div>
          <span className="muted">{t("serving.requests")}</span>
          <b>{formatCount(requests.length)}</b>
        </div>
        <div>
          <span className="muted">{t("serving.rate")}</span>
          <b>{formatNumber(Math.round(tokenRate(requests) * 10) / 10)}</b>
        </div>
        {MEASURES.map((name) => {
          const all = valuesOf(requests, name);
          return (
            <button
              key={name}
              aria-pressed={name === measure}
              onClick={() => setMeasure(name)}
              title={t(`serving.${name}`)}
            >
              <span className="muted">{name} P50 · P99</span>
              <b>
                {all.length > 0
                  ? `${formatDuration(percentile(all, 0.5))} · ${formatDuration(percentile(all, 0.99))}`
                  : "–"}
              </b>
            </button>
          );
        })}
        <span className="grow" />
        {select}
      </div>
      {[table, tokens, steps, waits, pauses].map((answer, i) => (
        <Failure key={i} of={answer} />
      ))}
      <div className="columns" style={{ flex: 1.2 }}>
        <div className="column" style={{ flex: 1.7 }}>
          <div className="toolbar">
            <b>{t("serving.requests")}</b>
            <span className="legend">
              {(
                [
                  ["arriving", theme.counter],
                  ["queued", theme.free],
                  ["prefill", theme.communication],
                  ["decode", theme.computing],
                  ["loop", colorOfPart("event_loop", theme)],
                  ["delivery", colorOfPart("delivery", theme)],
                  ["prefills", colorOfPart("other_prefill", theme)],
                  ["slow", colorOfPart("engine", theme)],
                ] as const
              ).map(([name, color]) => (
                <span key={name} title={name === "arriving" || name === "slow" ? t(`serving.${name}.help`) : undefined}>
                  <i style={{ background: color }} />
                  {t(`serving.${name}`)}
                </span>
              ))}
            </span>
          </div>
          <Waterfall
            requests={requests}
            waits={waitsOfRequests}
            pauses={pauses.data?.rows.map(([ts, dur]) => [Number(ts), Number(ts) + Number(dur)]) ?? []}
            selected={selected}
            onSelect={(id) => setRequest(String(id))}
          />
        </div>
        <div className="column">
          <div className="toolbar">
            <b>{measure}</b>
            <span className="muted">
              {t("serving.distribution", formatCount(values.length))}
              {values.length > 0
                ? ` · P90 ${formatDuration(percentile(values, 0.9))} · ${t("column.max")} ${formatDuration(percentile(values, 1))}`
                : ""}
            </span>
            {values.length > 0 && (
              <button
                data-testid="serving-p99"
                title={t("serving.p99.help")}
                onClick={() => setRequest(String(requestAt(requests, (one) => valueOf(one, measure), 0.99) ?? ""))}
              >
                P99 {formatDuration(percentile(values, 0.99))}
              </button>
            )}
          </div>
          <div className="chart fills">
            {values.length === 0 && <p className="hint">{t("serving.novalues")}</p>}
            {values.length > 0 && (
              <Chart
                label={`${measure}: ${t("serving.distribution", formatCount(values.length))}`}
                curves={[{ name: measure, color: theme.accent, points: bars }]}
                shape="bars"
                formatX={(x) => formatDuration(Math.round(x))}
                formatY={formatNumber}
                testId="serving-histogram"
              />
            )}
          </div>
          {steps.data && <Load steps={steps.data} />}
        </div>
      </div>
      {selected === null ? (
        <RequestList trace={trace} requests={requests} measure={measure} steps={steps.data ?? null} />
      ) : (
        <OneRequest
          key={selected}
          trace={trace}
          request={requests.find((request) => request.id === selected) ?? null}
          onClose={() => setRequest("")}
        />
      )}
    </div>
  );
}

/** The batch, the queue and the cache over time. */
function Load({ steps }: { steps: TableMessage }) {
  const { actions, t, theme } = useApp();
  const zero = actions.data().begin;
  const at = (name: string) => steps.columns.findIndex((column) => column.name === name);
  const points = (value: (row: readonly unknown[]) => number) =>
    steps.rows.map((row): [number, number] => [Number(row[at("ts")]), value(row)]);
  const number = (name: string) => points((row) => Number(row[at(name)] ?? 0));
  const batch = points((row) => Number(row[at("prefill_requests")] ?? 0) + Number(row[at("decode_requests")] ?? 0));
  const curves = [
    { name: t("serving.batch"), color: theme.lines[0]!, points: batch },
    { name: t("serving.running"), color: theme.lines[1]!, points: number("running_requests") },
    { name: t("serving.waiting"), color: theme.lines[2]!, points: number("waiting_requests") },
  ];
  const cache = [{ name: t("serving.cache"), color: theme.lines[3]!, points: number("kv_cache_usage"), filled: true }];
  return (
    <>
      <div className="toolbar">
        <span className="legend">
          {[...curves, ...cache].map((curve) => (
            <span key={curve.name}>
              <i style={{ background: curve.color }} />
              {curve.name}
            </span>
          ))}
        </span>
      </div>
      <div className="chart fills">
        <Chart
          label={t("serving.batch")}
          curves={curves}
          shape="steps"
          zero={zero}
          formatX={(x) => formatDuration(Math.round(x - zero))}
          formatY={formatNumber}
          testId="serving-load"
        />
      </div>
      <div className="chart fills">
        <Chart
          label={t("serving.cache")}
          curves={cache}
          shape="steps"
          zero={zero}
          formatX={(x) => formatDuration(Math.round(x - zero))}
          formatY={(share) => formatShare(share, share < 0.01 ? 2 : 0)}
          testId="serving-cache"
        />
      </div>
    </>
  );
}

/** The path of a request by its parts; a row leads to the longest piece in the timeline. */
function Path({ trace, request }: { trace: number; request: number }) {
  const sql = partsStatement(
    request,
    useAppState((s) => s.language),
  );
  const table = useTable({ sql, trace, limit: 100 });
  return <DataTable name="request-path" answer={table} trace={trace} sql={sql} testId="request-path" />;
}

/** By what the client of a request finds it in its own logs and traces. */
function ClientIds({ request }: { request: Request }) {
  const ids = [
    ["x-request-id", request.clientId],
    ["traceparent", request.traceparent],
  ].filter(([, id]) => id !== "");
  return (
    <>
      {ids.map(([header, id]) => (
        <span key={header} className="muted" data-testid={header}>
          {header} <code>{id}</code>
        </span>
      ))}
    </>
  );
}

/** The engine steps of a request; of a step what each rank did. */
function OneRequest({ trace, request, onClose }: { trace: number; request: Request | null; onClose: () => void }) {
  const { actions, t } = useApp();
  const [stepText, setStep] = useDetail("engine_step");
  const sql = partStatement(request?.id ?? -1);
  const parts = useTable({ sql, trace, limit: 20_000 });
  const others = useTable(request ? { sql: othersStatement(request.id), trace } : null);
  const [, choose] = useDetail("request");
  const step = stepText === "" ? null : Number(stepText);
  const shown = useTable(step === null ? null : { sql: rankStepStatement(step), trace });
  const operators = useTable(step === null ? null : { sql: rankOperatorStatement(step), trace, limit: 20_000 });
  return (
    <div className="columns">
      <div className="column wide" style={{ flex: 1.2 }}>
        <div className="toolbar">
          <b>{t("serving.request", request?.name ?? "")}</b>
          <span className="muted">
            {request ? t("serving.tokens", request.prompt ?? "?", request.output) : ""}
            {request?.reason ? ` · ${request.reason}` : ""}
          </span>
          {request && <ClientIds request={request} />}
          {request && request.slice !== null && (
            <button onClick={() => void actions.select(trace, request.slice!, true)}>{t("serving.show")}</button>
          )}
          <span className="grow" />
          <button onClick={onClose}>{t("serving.all")}</button>
        </div>
        <div className="chips" data-testid="request-steps">
          {parts.data?.rows.map((row) => (
            <button key={String(row[1])} aria-pressed={step === Number(row[1])} onClick={() => setStep(String(row[1]))}>
              {String(row[1])} · {t(row[2] === "prefill" ? "serving.prefill" : "serving.decode")} · {String(row[3])}
            </button>
          ))}
        </div>
        {others.data && others.data.rows.length > 0 && (
          <div className="chips" data-testid="request-others">
            <span className="muted">{t("serving.others")}</span>
            {others.data.rows.map((row) => (
              <button key={String(row[0])} onClick={() => choose(String(row[0]))}>
                {String(row[1])} · {formatDuration(Number(row[2]))}
              </button>
            ))}
          </div>
        )}
        <Failure of={others} />
        <DataTable name="request-steps" answer={parts} trace={trace} sql={sql} testId="request-parts" />
      </div>
      <div className="column">
        <Failure of={shown} />
        {step === null || !shown.data ? (
          <>
            <p className="hint">{t("serving.choose")}</p>
            {request && <Path trace={trace} request={request.id} />}
          </>
        ) : (
          <>
            <div className="toolbar" data-testid="step-ranks">
              <b>{t("serving.step", step)}</b>
              {shown.data.rows.map((row, i) => (
                <button key={i} onClick={() => row[1] !== null && void actions.select(trace, Number(row[1]), true)}>
                  {t("lane.rank", String(row[0] ?? "–"))} · {formatDuration(Number(row[3] ?? 0))}
                </button>
              ))}
            </div>
            <DataTable
              name="step-operators"
              answer={operators}
              trace={trace}
              sql={rankOperatorStatement(step)}
              testId="step-operators"
            />
          </>
        )}
      </div>
    </div>
  );
}

export const servingView: View = { name: "serving", title: "view.serving", component: Serving };
