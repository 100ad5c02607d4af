import "./styles/base.css";
import "./styles/timeline.css";
import "./styles/tables.css";
import "./styles/views.css";

import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";

import { api } from "./api/client";
import { type Preferred, readAddress } from "./app/address";
import { App } from "./app/App";
import { Store, startState } from "./app/state";
import { newQueryClient } from "./app/useTable";

const preferred: Preferred = {
  theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  language: navigator.language.startsWith("zh") ? "zh" : "en",
};
const place = readAddress(location.hash, preferred);
api.setOffsets(place.offsets);

createRoot(document.getElementById("root")!).render(
  <QueryClientProvider client={newQueryClient()}>
    <App store={new Store(startState(place))} preferred={preferred} />
  </QueryClientProvider>,
);
