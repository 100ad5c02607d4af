// Made from src/serve/messages.h: `make golden` rewrites it.

export type Cell = string | number | boolean | null;

export interface ProcessMessage {
  /** number within the trace */
  id: number;
  /** of the operating system */
  pid: number;
  /** command line or label */
  name: string;
  /** host name */
  host: string;
}

export interface TrackMessage {
  /** number within the trace */
  id: number;
  /** thread, stream, counter, ...: table track */
  kind: string;
  /** label */
  name: string;
  /** process id, -1 none */
  process: number;
  /** thread id, -1 none */
  thread: number;
  /** -1 none */
  device: number;
  /** -1 none */
  stream: number;
  /** order within the process */
  sort: number;
  /** lanes: what is drawn is at depths 0 to this, exclusive */
  depths: number;
  /** how many; 0 for a counter */
  slices: number;
  /** moments that are no slices, on the last lane */
  marks: number;
}

export interface TraceMessage {
  /** number within the session */
  id: number;
  /** what was opened */
  path: string;
  /** last part of the path */
  name: string;
  /** what it was read as */
  format: string;
  /** traces of one launch have one, from 0 on */
  run: number;
  /** global rank, -1 unknown */
  rank: number;
  /** host name */
  host: string;
  /** waiting, reading, ready, recording or failed */
  state: string;
  /** grows when its slices change: only a part was shown before */
  version: number;
  /** why it failed */
  message: string;
  /** of the file, 0 for a folder */
  size_bytes: number;
  /** first begin of a slice */
  begin: number;
  /** last end of a slice */
  end: number;
  /** how many */
  slices: number;
  /** it holds nothing that ran or was measured, or nothing is known yet */
  empty: boolean;
  /** that such a trace alone has: of a comparison of values */
  tables: string[];
  /** rows of import_issue */
  issues: number;
  /** by id */
  processes: ProcessMessage[];
  /** by id */
  tracks: TrackMessage[];
}

export interface IgnoredMessage {
  /** file or folder next to the traces */
  path: string;
  /** why it was not read */
  reason: string;
}

export interface ProgressMessage {
  /** trace id */
  trace: number;
  /** of its import that is done, 0 to 1; 0 where that is unknown */
  share: number;
}

export interface EntryMessage {
  /** in its folder */
  name: string;
  /** holds others */
  folder: boolean;
  /** what it would be read as, empty: not as one trace */
  format: string;
}

export interface FolderMessage {
  /** absolute */
  path: string;
  /** folders first, by name */
  entries: EntryMessage[];
}

export interface LiveMessage {
  /** where the program can be asked */
  address: string;
  /** idle, recording, or gone */
  state: string;
  /** why it is gone */
  message: string;
  /** of the program */
  pid: number;
  /** -1 unknown */
  rank: number;
  /** of the session that runs */
  records: number;
  /** of the session that runs */
  bytes: number;
  /** records that were lost */
  dropped: number;
  /** folder of the session */
  path: string;
}

export interface RankMapMessage {
  /** of the run in the lake, or the database of the result */
  name: string;
  /** its folder, empty for a result: statements see it as trace -2 */
  lake: string;
  /** whose traces can be opened, 0 none */
  ranks: number;
}

export interface RankTileMessage {
  /** that are known: step, computing, exposed, ... */
  measures: string[];
  /** of the map */
  total_ranks: number;
  /** of the map */
  total_steps: number;
  /** ranks in a row, but for the last */
  row_size: number;
  /** steps in a column, but for the last */
  column_size: number;
  /** by row: number of its first rank */
  first_ranks: number[];
  /** by row: number of its last rank */
  last_ranks: number[];
  /** by column; -1: of traces without steps */
  first_steps: number[];
  /** by column */
  last_steps: number[];
  /** row by row: the largest value of the cell, null none */
  ns: number[];
  /** row by row: the rank that has it */
  ranks: number[];
  /** row by row: the step that has it */
  steps: number[];
  /** end of the colours */
  low: number;
  /** the other end */
  high: number;
}

export interface OpenedRankMessage {
  /** trace id */
  trace: number;
}

export interface SessionMessage {
  /** of Sonde */
  version: string;
  /** grows with each change */
  revision: number;
  /** moment 0 in nanoseconds of the Unix epoch, as text */
  base: string;
  /** traces are still being read */
  loading: boolean;
  /** programs can be asked to record: /api/live */
  live: boolean;
  /** folders inside of which more can be opened */
  roots: string[];
  /** paths in which nothing was found */
  notes: string[];
  /** the first files next to the traces that were not read */
  ignored: IgnoredMessage[];
  /** of more ranks than are read: /api/rank_map */
  maps: RankMapMessage[];
  /** by id */
  traces: TraceMessage[];
}

export interface SliceRefMessage {
  /** trace id */
  trace: number;
  /** slice id; of a mark that is no slice -2 - its mark id */
  id: number;
  /** track id */
  track: number;
  /** what ran */
  name: string;
  /** begin */
  ts: number;
  /** duration, -1 unfinished */
  dur: number;
  /** lane within the track */
  depth: number;
}

export interface FactMessage {
  /** argument, operator, task, ... */
  group: string;
  /** name of the fact */
  key: string;
  /** its value */
  value: string;
}

export interface FlowEndMessage {
  /** of the flow */
  kind: string;
  /** the flow goes from the slice to this */
  out: boolean;
  /** the other end */
  slice: SliceRefMessage;
  /** number of the step that the other end is, -1 none */
  step: number;
  /** that it ran on, -1 none */
  rank: number;
}

export interface SliceMessage {
  /** itself */
  slice: SliceRefMessage;
  /** cpu_op, kernel, ... */
  category: string;
  /** duration without that of its children */
  self: number;
  /** slices directly below */
  children: number;
  /** arguments, shapes, ... */
  facts: FactMessage[];
  /** frames, innermost first */
  stack: string[];
  /** outermost first */
  ancestors: SliceRefMessage[];
  /** other ends of its flows */
  flows: FlowEndMessage[];
}

export interface SliceListMessage {
  /** how many there are */
  total: number;
  /** the first of them, by time */
  slices: SliceRefMessage[];
}

export interface TotalMessage {
  /** what ran */
  name: string;
  /** occurrences */
  count: number;
  /** sum of durations */
  total: number;
  /** the same without children */
  self: number;
  /** shortest */
  min: number;
  /** longest */
  max: number;
}

export interface AreaMessage {
  /** in the area */
  slices: number;
  /** by name, largest total first */
  rows: TotalMessage[];
}

export interface FlameNodeMessage {
  /** index of the caller, -1 none */
  parent: number;
  /** what ran */
  name: string;
  /** time in it */
  total: number;
  /** without its children */
  self: number;
  /** calls */
  count: number;
}

export interface FlameMessage {
  /** false: too many slices, some left out */
  complete: boolean;
  /** callers first */
  nodes: FlameNodeMessage[];
}

export interface ColumnMessage {
  /** as asked */
  name: string;
  /** integer, real, text or boolean */
  type: string;
}

export interface TableMessage {
  /** of the result */
  columns: ColumnMessage[];
  /** arrays of cells; large integers are texts */
  rows: Cell[][];
  /** false: there are more rows */
  complete: boolean;
  /** time of the statement in nanoseconds */
  elapsed: number;
}

export interface ResultColumnMessage {
  /** with its unit at the end */
  name: string;
  /** integer, real or text */
  type: string;
  /** ns, bytes, %, ... or empty */
  unit: string;
  /** key, measure or label */
  role: string;
  /** of a measure: less, more or empty */
  better: string;
  /** of a key: keys of one space that are equal are one */
  space: string;
  /** in words */
  meaning: string;
}

export interface ResultMessage {
  /** of the recipe and of its table in statements */
  name: string;
  /** what a row is */
  meaning: string;
  /** as declared */
  columns: ResultColumnMessage[];
  /** arrays of cells; large integers are texts */
  rows: Cell[][];
  /** false: there are more rows than were asked for */
  complete: boolean;
  /** time of the analysis in nanoseconds, when it was made */
  elapsed: number;
}

export interface ResultPartMessage {
  /** id */
  trace: number;
  /** why there are no rows, or empty */
  error: string;
  /** false: it has more rows than are here */
  complete: boolean;
  /** arrays of cells; large integers are texts */
  rows: Cell[][];
}

export interface ResultsMessage {
  /** of the recipe */
  name: string;
  /** as declared */
  columns: ResultColumnMessage[];
  /** by trace: those asked for, as many as an answer holds */
  parts: ResultPartMessage[];
  /** a line each: clock differences removed from waits */
  notices: string[];
}

export interface FindingMessage {
  /** trace id, -1: of several */
  trace: number;
  /** that it is about, -1 none */
  rank: number;
  /** that it is about, -1 none */
  step: number;
  /** slow_rank, coverage, import_issue, slow_request */
  rule: string;
  /** error, warning or info */
  severity: string;
  /** 0 to 1; 1: it was counted and not concluded */
  confidence: number;
  /** a code, a request, what is covered */
  subject: string;
  /** what was measured */
  value: number;
  /** of value and limit */
  unit: string;
  /** from which on the rule speaks */
  limit: number;
  /** in the requested language */
  text: string;
  /** statement whose rows show it, may be empty */
  evidence: string;
}

export interface AdviceMessage {
  /** as import_issue has it: in English */
  advice: string;
  /** in the requested language */
  text: string;
}

export interface ClusterRankMessage {
  /** number of the rank */
  rank: number;
  /** trace id */
  trace: number;
  /** it does not hold what the mode needs */
  empty: boolean;
  /** why it failed, or empty */
  error: string;
}

export interface ClusterTableMessage {
  /** as in cluster_analysis.db */
  name: string;
  /** what a row is */
  meaning: string;
  /** as declared */
  columns: ResultColumnMessage[];
  /** arrays of cells; large integers are texts */
  rows: Cell[][];
  /** false: there are more rows than were asked for */
  complete: boolean;
}

export interface ClusterMessage {
  /** name */
  mode: string;
  /** why there is nothing, or empty */
  missing: string;
  /** that were looked at, by number */
  ranks: ClusterRankMessage[];
  /** as the mode gives them */
  tables: ClusterTableMessage[];
  /** in words */
  findings: FindingMessage[];
  /** a line each: what was left out */
  notices: string[];
}

export interface WordMessage {
  /** what stands there */
  cell: string;
  /** in the requested language */
  text: string;
}

export interface ComparisonMessage {
  /** trace id */
  base: number;
  /** trace id */
  comparison: number;
  /** why there is nothing, or empty */
  missing: string;
  /** of a step: changed, unchanged, too noisy to decide, ... */
  verdict: string;
  /** its conclusions, in the requested language */
  sentences: string[];
  /** for cells of the tables */
  words: WordMessage[];
  /** compare_stage, compare_cause and the others of two traces */
  tables: ClusterTableMessage[];
}

export interface RuleSheetMessage {
  /** in the requested language */
  name: string;
  /** their names */
  columns: string[];
  /** rows that there are */
  total: number;
  /** the first of them */
  rows: Cell[][];
  /** in which one sees each row, -1 nowhere; empty: of none */
  slices: number[];
}

export interface RuleAdviceMessage {
  /** its name */
  rule: string;
  /** where it stands in the report */
  section: string;
  /** that it is about, -1 all */
  trace: number;
  /** in the requested language, as all texts */
  title: string;
  /** what was found */
  description: string;
  /** what to do */
  suggestions: string[];
  /** high, medium, low or empty */
  priority: string;
  /** 1: counted and not concluded */
  confidence: number;
  /** how often, how long, what it could gain and by which formula */
  evidence: string;
  /** slice in which one sees it, -1 nowhere */
  place: number;
  /** for the view of SQL; empty: it needs another trace, too */
  statement: string;
  /** rows that show it */
  sheets: RuleSheetMessage[];
}

export interface RuleSilenceMessage {
  /** that was not asked, or failed */
  rule: string;
  /** what the trace lacks, or the error */
  why: string;
  /** an error */
  failed: boolean;
}

export interface AdvisorMessage {
  /** why there is no advice, or empty */
  missing: string;
  /** in the order of the report */
  advice: RuleAdviceMessage[];
  /** rules without a verdict */
  silences: RuleSilenceMessage[];
  /** a line each: what was left out */
  notices: string[];
}

export interface SchemaTableMessage {
  /** of the table */
  name: string;
  /** what a row is */
  meaning: string;
  /** type: of SQL */
  columns: ColumnMessage[];
}

export interface ErrorMessage {
  /** what went wrong, one line */
  error: string;
}
