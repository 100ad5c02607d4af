import { useApp, useAppState } from "../../app/context";
import { mix, readable } from "../../base/color";
import { formatBytes, formatDuration } from "../../base/format";
import type { Theme } from "../../theme/themes";
import type { Link, Matrix } from "./matrix";

const KINDS = ["bytes", "time", "bandwidth"] as const;
type Kind = (typeof KINDS)[number];

/** Beyond this cells have no texts: the colours, and the tip under the mouse, remain. */
const MOST_TEXTS = 12;

export function valueOf(link: Link, kind: Kind): number {
  if (kind === "bandwidth") return link.time > 0 ? link.bytes / link.time : 0;
  return kind === "bytes" ? link.bytes : link.time;
}

export function textOf(value: number, kind: Kind): string {
  if (kind === "bandwidth") return `${value.toFixed(value < 10 ? 2 : 1)} GB/s`;
  return kind === "bytes" ? formatBytes(value) : formatDuration(value);
}

/** The unit in which the largest value of a matrix is short, and what of it a value is. */
export function scaleOf(most: number, kind: Kind): [string, number] {
  const text = textOf(most, kind);
  const unit = text.split(" ").at(-1)!;
  return [unit, most / Math.max(Number.parseFloat(text), 1e-12)];
}

/** Four digits at most: eight ranks fit side by side. */
export function shortText(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Ground and text of a cell whose value is such a share of the largest. */
export function heatColors(theme: Theme, share: number): { background: string; color: string } {
  const background = mix(theme.background, theme.communication, 0.75 * share);
  return { background, color: readable(background) };
}

/** Traffic from each rank to each other one. */
export function HeatMap({ matrix }: { matrix: Matrix }) {
  const { store, t, theme } = useApp();
  const chosen = useAppState((s) => s.detail["matrix"] ?? "bytes");
  const kind = KINDS.find((candidate) => candidate === chosen) ?? "bytes";
  const { ranks, links } = matrix;
  if (ranks.length === 0) return <p className="hint">{t("communication.nomatrix")}</p>;
  const most = Math.max(1e-9, ...[...links.values()].map((link) => valueOf(link, kind)));
  const [unit, size] = scaleOf(most, kind);
  return (
    <>
      <div className="toolbar">
        <b>{t("communication.matrix")}</b>
        {KINDS.map((name) => (
          <button
            key={name}
            aria-pressed={kind === name}
            onClick={() => store.set({ detail: { ...store.get().detail, matrix: name } })}
          >
            {t(`communication.${name}`)}
          </button>
        ))}
      </div>
      <div style={{ overflow: "auto", flex: 1 }}>
        <table className="matrix" data-testid="matrix">
          <tbody>
            <tr>
              <th>
                {t("communication.from")} \ {t("communication.to")} · {unit}
              </th>
              {ranks.map((to) => (
                <th key={to}>{to}</th>
              ))}
            </tr>
            {ranks.map((from) => (
              <tr key={from}>
                <th>{from}</th>
                {ranks.map((to) => {
                  const link = links.get(`${from}:${to}`);
                  const value = link ? valueOf(link, kind) : 0;
                  return (
                    <td
                      key={to}
                      style={heatColors(theme, value / most)}
                      title={
                        link
                          ? `${from} → ${to}: ${KINDS.map((name) => textOf(valueOf(link, name), name)).join(", ")}`
                          : ""
                      }
                    >
                      {link && ranks.length <= MOST_TEXTS ? shortText(value / size) : ""}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
