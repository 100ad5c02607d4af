/** Rows of a label, a bar of coloured parts and a value. */
export interface BarRow {
  label: string;
  /** Said when the mouse is over the label, where that is more. */
  title?: string;
  parts: readonly { color: string; value: number; title?: string }[];
  text: string;
}

export function Bars({ rows, whole, testId }: { rows: readonly BarRow[]; whole: number; testId?: string }) {
  return (
    <div className="bars" data-testid={testId}>
      {rows.map((row, i) => (
        <div className="bar-row" key={`${row.label}${i}`}>
          <span title={row.title ?? row.label}>{row.label}</span>
          <div className="bar">
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
