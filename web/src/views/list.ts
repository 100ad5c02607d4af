import type { View } from "../app/view";
import { communicationView } from "./communication/Communication";
import { liveView } from "./live/Live";
import { memoryView } from "./memory/Memory";
import { operatorsView } from "./operators/Operators";
import { ranksView } from "./ranks/Ranks";
import { servingView } from "./serving/Serving";
import { sqlView } from "./sql/Sql";
import { summaryView } from "./summary/Summary";
import { tablesView } from "./tables/Tables";
import { timelineView } from "./timeline/Timeline";

/** The views, in the order of their tabs. */
export const views: readonly View[] = [
  timelineView,
  summaryView,
  operatorsView,
  memoryView,
  communicationView,
  ranksView,
  servingView,
  tablesView,
  sqlView,
  liveView,
];
