/** What is known of one row of a comparison: where it is, what both runs have there, why it differs, what to do. */
import { useMemo } from "react";

import type { Cell } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { Failure } from "../../app/Failure";
import { useTable } from "../../app/useTable";
import { formatDigits, formatShare } from "../../base/format";
import { word } from "../../i18n/words";
import { type Pair, type RowKey, type ValuesTable, distancesOf, pairsOf, rowStatement, toneOf } from "./causes";

type Named = Readonly<Record<string, Cell>>;

const text = (cell: Cell | undefined): string =>
  cell === null || cell === undefined ? "" : typeof cell === "number" ? formatDigits(cell) : String(cell);

function Numbers({ pairs }: { pairs: readonly Pair[] }) {
  const { t } = useApp();
  const language = useAppState((s) => s.language);
  return (
    <table className="numbers" data-testid="values-numbers">
      <thead>
        <tr>
          <td />
          <th scope="col">{t("values.target")}</th>
          <th scope="col">{t("values.golden")}</th>
          <th scope="col">{t("values.difference")}</th>
        </tr>
      </thead>
      <tbody>
        {pairs.map(({ name, target, golden, difference, relative }) => (
          <tr key={name}>
            <th scope="row">{word(language, name)}</th>
            <td>{text(target)}</td>
            <td>{text(golden)}</td>
            <td>
              {typeof difference === "number" ? formatDigits(difference, 4) : text(difference)}
              {typeof relative === "number" && relative !== 0 && (
                <span className="muted"> {formatShare(relative / 100)}</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Why the row is as it is, and what to do about it. */
function Reason({ row, finding, onPlace }: { row: Named; finding: Named | undefined; onPlace: (key: string) => void }) {
  const { t } = useApp();
  const language = useAppState((s) => s.language);
  const tone = toneOf(row["cause"] ?? null);
  const ratio = row["ratio"];
  const place = text(finding?.["place"]);
  const hasRow = (finding?.["row"] ?? null) !== null;
  // The values of both sides are in the table above.
  const evidence = text(finding?.["evidence"])
    .split("\n")
    .filter((line) => line !== "" && !/^(target|golden) {2}/.test(line));
  if (tone === "rounding" && typeof ratio === "number") return <p>{t("values.rounding", formatShare(ratio, 1))}</p>;
  if (tone === "behind" && place !== "") {
    return (
      <p>
        {t("values.behind", place)}{" "}
        {hasRow && (
          <button onClick={() => onPlace([row["step"], row["rank"], finding?.["row"]].join())}>
            {t("values.show")}
          </button>
        )}
      </p>
    );
  }
  if (tone !== "first" || !finding) return null;
  const detail = text(finding["detail"]);
  return (
    <>
      {detail !== "" && <p className="prose">{detail}</p>}
      {evidence.length > 0 && (
        <ul className="prose">
          {evidence.map((line, at) => (
            <li key={at}>{line}</li>
          ))}
        </ul>
      )}
      {text(finding["advice"]) !== "" && (
        <p className="prose" data-testid="values-advice">
          <b>{t("values.advice")}</b> {word(language, text(finding["advice"]))}
        </p>
      )}
    </>
  );
}

export function RowPanel(of: {
  table: ValuesTable;
  trace: number;
  place: RowKey;
  findings: readonly Named[];
  onPlace: (key: string) => void;
}) {
  const { t } = useApp();
  const language = useAppState((s) => s.language);
  const answer = useTable({ sql: rowStatement(of.table, of.place), trace: of.trace, limit: 1 });
  const row = useMemo((): Named | null => {
    const cells = answer.data?.rows[0];
    return cells ? Object.fromEntries(answer.data!.columns.map(({ name }, i) => [name, cells[i] ?? null])) : null;
  }, [answer.data]);
  const isOf = (finding: Named) => String(finding["step"]) === of.place[0] && String(finding["rank"]) === of.place[1];
  const pairs = useMemo(() => (row ? pairsOf(row) : []), [row]);
  const name = row && (row["npu_name"] === "N/A" ? row["bench_name"] : row["npu_name"]);
  const facts: [string, Cell | undefined][] = row
    ? [
        [t("values.module"), row["module"]],
        [t("values.source"), row["source"]],
        [t("values.place"), t("values.step", text(row["step"]), text(row["rank"]))],
        [t("values.other"), row["bench_name"] === row["npu_name"] ? null : row["bench_name"]],
        [
          t("values.reference"),
          row["err_message"] === "[]" ? row["result"] : `${text(row["result"])} ${text(row["err_message"])}`,
        ],
        ...distancesOf(row),
      ]
    : [];
  return (
    <aside className="row-panel" data-testid="values-row" aria-label={t("values.row")}>
      <button className="close" aria-label={t("app.close")} onClick={() => of.onPlace("")}>
        ✕
      </button>
      <Failure of={answer} />
      {row && (
        <>
          <h2 className={`tone ${toneOf(row["cause"] ?? null)}`}>
            {word(language, text(row["cause"] ?? "not compared"))}
          </h2>
          <p className="path">{text(name)}</p>
          <Numbers pairs={pairs} />
          <Reason row={row} finding={of.findings.find(isOf)} onPlace={of.onPlace} />
          <dl>
            {facts.flatMap(([key, value]) =>
              text(value) === ""
                ? []
                : [
                    <div key={key}>
                      <dt>{word(language, key.replaceAll("_", " "))}</dt>
                      <dd>{text(value)}</dd>
                    </div>,
                  ],
            )}
          </dl>
        </>
      )}
    </aside>
  );
}
