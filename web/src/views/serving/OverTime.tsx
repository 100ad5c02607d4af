import { useMemo } from "react";

import type { TableMessage } from "../../api/messages";
import { Chart } from "../../app/Chart";
import { useApp } from "../../app/context";
import { formatDuration, formatNumber } from "../../base/format";
import { type Measure, courseOf, queueOf } from "./measures";
import type { Request } from "./requests";

const WINDOWS = 60;

interface Properties {
  requests: readonly Request[];
  measure: Measure;
  steps: TableMessage | null;
}

/** When requests were slow: P99 of the chosen measure, output tokens a second and the queue over time. */
export function OverTime({ requests, measure, steps }: Properties) {
  const { actions, t, theme } = useApp();
  const zero = actions.data().begin;
  const course = useMemo(() => courseOf(requests, measure, WINDOWS), [requests, measure]);
  const queue = useMemo(() => (steps ? queueOf(steps) : []), [steps]);
  const charts = [
    { name: `${measure} P99`, points: course.p99, color: theme.lines[0]!, shape: "dots", formatY: duration, id: "p99" },
    {
      name: t("serving.rate"),
      points: course.tokens,
      color: theme.lines[1]!,
      shape: "lines",
      formatY: formatNumber,
      id: "rate",
    },
    {
      name: t("serving.waiting"),
      points: queue,
      color: theme.lines[2]!,
      shape: "steps",
      formatY: formatNumber,
      id: "queue",
    },
  ] as const;
  return (
    <div className="columns" data-testid="serving-over-time">
      {charts.map(({ name, points, color, shape, formatY, id }) => (
        <div className="column" key={id}>
          <div className="toolbar">
            <b>{name}</b>
          </div>
          <div className="chart fills">
            {points.length === 0 ? (
              <p className="hint">{t("serving.novalues")}</p>
            ) : (
              <Chart
                label={name}
                curves={[{ name, color, points, filled: shape !== "dots" }]}
                shape={shape}
                zero={zero}
                formatX={(x) => formatDuration(Math.round(x - zero))}
                formatY={formatY}
                testId={`serving-time-${id}`}
              />
            )}
          </div>
        </div>
      ))}
    </div>
  );
}

const duration = (ns: number) => formatDuration(Math.round(ns));
