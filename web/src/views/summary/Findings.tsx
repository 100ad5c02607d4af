import { useQuery } from "@tanstack/react-query";

import { api } from "../../api/client";
import type { FindingMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { Failure } from "../../app/Failure";
import { useVersions } from "../../app/useTable";

/** What the analyses of all traces have to say, in words; the rows that show it are a click away. */
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
  // What the import had to say stands behind "Traces".
  const shown = asked.data?.filter((finding) => finding.rule !== "import_issue") ?? [];
  if (shown.length === 0) return null;
  const owner = ({ trace }: FindingMessage) => {
    const found = traces.length > 1 ? traces[trace] : undefined;
    return found ? `${found.rank >= 0 ? t("lane.rank", found.rank) : found.name}: ` : "";
  };
  const show = ({ evidence, trace }: FindingMessage) =>
    store.set({
      view: "sql",
      detail: { ...store.get().detail, sql: evidence, ran: "1", rank: String(trace) },
    });
  return (
    <ul className="findings" data-testid="findings">
      {shown.map((finding, i) => (
        <li key={i} className={`finding ${finding.severity}`}>
          {owner(finding)}
          {finding.text}
          {finding.evidence !== "" && <button onClick={() => show(finding)}>{t("summary.evidence")}</button>}
        </li>
      ))}
    </ul>
  );
}
