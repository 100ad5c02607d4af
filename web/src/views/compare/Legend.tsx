import type { Curve } from "../../app/Chart";

export function Legend({ curves }: { curves: readonly Curve[] }) {
  return (
    <span className="legend">
      {curves.map(({ name, color }) => (
        <span key={name}>
          <i style={{ background: color }} />
          {name}
        </span>
      ))}
    </span>
  );
}
