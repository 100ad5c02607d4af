import { useQuery } from "@tanstack/react-query";

import { api } from "../../api/client";
import type { FindingMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { Failure } from "../../app/Failure";
import { useVersions } from "../../app/useTable";

const MOST_NAMED = 4;

/** Joins equal findings of several traces, in the order of the first. */
export function alike(findings: readonly FindingMessage[]): FindingMessage[][] {
  const groups = new Map<string, FindingMessage[]>();
  for (const finding of findings) {
    const key = `${finding.severity} ${finding.rule} ${finding.text}`;
    const group = groups.get(key);
    if (group) group.push(finding);
    else groups.set(key, [finding]);
  }
  return [...groups.values()];
}

/** The findings of all traces in words; the rows that show it are a click away. */
export function Findings() {
  const { store, t } = useApp();
  const language = useAppState((s) => s.language);
  const traces = useAppState((s) => s.session!.traces);
  const versions = useVersions();
  const asked = useQuery({
    queryKey: ["findings", language, versions],
    queryFn: ({ signal }) => api.findings(language, signal),
  });
  if (asked.error) return <Failure of={asked} />;
  // Issues of the import are behind "Traces".
  const shown = asked.data?.filter((finding) => finding.rule !== "import_issue") ?? [];
  if (shown.length === 0) return null;
  const owner = ({ trace }: FindingMessage) => {
    const found = traces.length > 1 ? traces[trace] : undefined;
    return found ? (found.rank >= 0 ? t("lane.rank", found.rank) : found.name) : "";
  };
  const owners = (same: readonly FindingMessage[]) => {
    const named = same.map(owner).filter(Boolean);
    if (named.length > MOST_NAMED) return `${t("summary.ofranks", named[0]!, named.length - 1)}: `;
    return named.length > 0 ? `${named.join(", ")}: ` : "";
  };
  const show = ({ evidence, trace }: FindingMessage) =>
    store.set({
      view: "sql",
      detail: { ...store.get().detail, sql: evidence, ran: "1", rank: String(trace) },
    });
  return (
    <ul className="findings" data-testid="findings">
      {alike(shown).map((same) => {
        const finding = same[0]!;
        return (
          <li key={`${finding.trace} ${finding.rule} ${finding.text}`} className={`finding ${finding.severity}`}>
            {owners(same)}
            {finding.text}
            {finding.evidence !== "" && (
              <button onClick={() => show(same.length > 1 ? { ...finding, trace: -1 } : finding)}>
                {t("summary.evidence")}
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
