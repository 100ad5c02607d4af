/** Rows of a label, a bar of coloured parts and a value. */
export interface BarRow {
  label: string;
  /** Shown when the mouse is over the label, where that is more. */
  title?: string;
  parts: readonly { color: string; value: number; title?: string }[];
  text: string;
}

interface Properties {
  rows: readonly BarRow[];
  whole: number;
  testId?: string;
  /** Leads to what the row sums. */
  onRow?: (row: BarRow, at: number) => void;
}

export function Bars({ rows, whole, testId, onRow }: Properties) {
  return (
    <div className="bars" data-testid={testId}>
      {rows.map((row, i) => (
        <div className="bar-row" key={`${row.label}${i}`}>
          {onRow ? (
            <button className="link" title={row.title ?? row.label} onClick={() => onRow(row, i)}>
              {row.label}
            </button>
          ) : (
            <span title={row.title ?? row.label}>{row.label}</span>
          )}
          <div className="bar" onClick={() => onRow?.(row, i)}>
            {row.parts.map((part, at) => (
              <i
                key={at}
                title={part.title}
                style={{ width: `${(100 * part.value) / Math.max(whole, 1)}%`, background: part.color }}
              />
            ))}
          </div>
          <span className="right">{row.text}</span>
        </div>
      ))}
    </div>
  );
}
