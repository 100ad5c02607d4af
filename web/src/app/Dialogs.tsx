import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import { views } from "../views/list";
import { keyHelp } from "../views/timeline/keys";
import { groupsOf, trackKey, trackLabel } from "../views/timeline/lanes";
import { useApp, useAppState } from "./context";
import { Issues } from "./Issues";
import { OffsetInput } from "./OffsetInput";
import { TraceList } from "./Opening";
import { OpenPath } from "./OpenPath";
import { isShown } from "./traces";

/** Tab goes round within the dialog. */
function keepInside(event: KeyboardEvent, box: HTMLElement) {
  if (event.defaultPrevented) return;
  const stops = [...box.querySelectorAll<HTMLElement>("button, input, select, summary, [tabindex='0']")];
  const [first, last] = [stops[0], stops.at(-1)];
  const from = document.activeElement;
  if (event.shiftKey ? from === first || from === box : from === last) {
    (event.shiftKey ? last : first)?.focus();
    event.preventDefault();
  }
}

function Dialog({ title, children }: { title: string; children: ReactNode }) {
  const { store, t } = useApp();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current?.contains(document.activeElement)) box.current?.focus();
  }, []);
  return (
    <div className="veil" onPointerDown={(event) => event.target === event.currentTarget && store.set({ dialog: "" })}>
      <div
        className="dialog"
        role="dialog"
        aria-modal="true"
        aria-label={title}
        tabIndex={-1}
        ref={box}
        onKeyDown={(event) => event.key === "Tab" && keepInside(event, box.current!)}
      >
        <div className="dialog-title">
          <h2>{title}</h2>
          <button aria-label={t("app.close")} onClick={() => store.set({ dialog: "" })}>
            ✕
          </button>
        </div>
        {children}
      </div>
    </div>
  );
}

function Help() {
  const { t } = useApp();
  return (
    <Dialog title={t("app.help")}>
      <dl className="keys">
        {keyHelp.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              {keys.split("  ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

interface Command {
  title: string;
  run: () => void;
}

function useCommands(): Command[] {
  const { store, actions, t } = useApp();
  const session = useAppState((s) => s.session);
  return useMemo(() => {
    const lanes = (session?.traces ?? []).filter(isShown);
    const groups = lanes.flatMap((trace) => groupsOf(trace, t));
    const commands: Command[] = [
      ...views.map((view) => ({ title: t(view.title), run: () => store.set({ view: view.name }) })),
      { title: t("key.fit"), run: actions.fit },
      {
        title: t("command.collapse"),
        run: () => store.set({ folded: groups.filter((g) => g.family !== "counter").map((g) => g.key) }),
      },
      {
        title: t("command.expand"),
        run: () => store.set({ folded: groups.filter((g) => g.family === "counter").map((g) => `+${g.key}`) }),
      },
      { title: t("open.title"), run: () => store.set({ dialog: "open" }) },
      { title: t("app.traces"), run: () => store.set({ dialog: "traces" }) },
      { title: t("command.anchor"), run: actions.setAnchor },
      { title: t("command.alignleft"), run: () => void actions.alignAll("begin") },
      { title: t("command.alignright"), run: () => void actions.alignAll("end") },
      { title: t("command.alignstarts"), run: actions.alignStarts },
      { title: t("command.offsets"), run: () => void actions.setOffsets({}) },
      { title: t("command.order"), run: () => store.set({ order: [] }) },
      { title: t("command.showall"), run: () => store.set({ hidden: [] }) },
      { title: t("command.unpin"), run: () => store.set({ pinned: [] }) },
      { title: t("command.link"), run: () => void navigator.clipboard.writeText(location.href) },
      { title: t("app.theme"), run: () => store.set({ theme: store.get().theme === "light" ? "dark" : "light" }) },
      { title: t("app.language"), run: () => store.set({ language: store.get().language === "en" ? "zh" : "en" }) },
      { title: t("app.help"), run: () => store.set({ dialog: "help" }) },
    ];
    for (const trace of lanes) {
      const rank = trace.rank >= 0 ? `${t("lane.rank", trace.rank)} · ` : lanes.length > 1 ? `${trace.name} · ` : "";
      for (const group of groupsOf(trace, t)) {
        for (const track of group.tracks) {
          const name = `${rank}${group.label} · ${trackLabel(track, t)}`;
          commands.push({ title: `→ ${name}`, run: () => actions.showLane(trace, track, group.key) });
          commands.push({ title: `★ ${name}`, run: () => actions.toggle("pinned", trackKey(trace.id, track.id)) });
        }
      }
    }
    return commands;
  }, [session, store, actions, t]);
}

/** The letters of the words, in order: "acl" finds "all collapse". */
export function fuzzy(text: string, wanted: string): boolean {
  let at = 0;
  const low = text.toLowerCase();
  for (const letter of wanted.toLowerCase().replace(/\s/g, "")) {
    at = low.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

function Palette() {
  const { store, t } = useApp();
  const commands = useCommands();
  const [text, setText] = useState("");
  const [current, setCurrent] = useState(0);
  const found = commands.filter((command) => fuzzy(command.title, text)).slice(0, 60);
  const run = (command: Command | undefined) => {
    store.set({ dialog: "" });
    command?.run();
  };
  return (
    <Dialog title={t("app.commands")}>
      <input
        autoFocus
        value={text}
        placeholder={t("app.commands.hint")}
        aria-label={t("app.commands.hint")}
        onChange={(event) => {
          setText(event.target.value);
          setCurrent(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setCurrent((c) => Math.min(found.length - 1, c + 1));
          else if (event.key === "ArrowUp") setCurrent((c) => Math.max(0, c - 1));
          else if (event.key === "Enter") run(found[current]);
          else return;
          event.preventDefault();
        }}
      />
      <ul className="commands" role="listbox" aria-label={t("app.commands")}>
        {found.map((command, i) => (
          <li
            key={`${command.title}${i}`}
            role="option"
            aria-selected={i === current}
            onPointerDown={() => run(command)}
          >
            {command.title}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function Traces() {
  const { t } = useApp();
  const session = useAppState((s) => s.session);
  return (
    <Dialog title={t("app.traces")}>
      {session?.notes.map((note) => (
        <p key={note} className="error">
          {note}
        </p>
      ))}
      <TraceList />
      {(session?.traces.filter(isShown).length ?? 0) > 1 && <OffsetInput />}
      {session && session.ignored.length > 0 && (
        <details className="ignored" data-testid="ignored">
          <summary>{t("traces.ignored", session.ignored.length)}</summary>
          <ul>
            {session.ignored.map((entry) => (
              <li key={entry.path}>
                {entry.path} <small>{t(entry.reason === "folder" ? "traces.folder" : "traces.file")}</small>
              </li>
            ))}
          </ul>
        </details>
      )}
      <Issues />
    </Dialog>
  );
}

function Open() {
  const { store, t } = useApp();
  return (
    <Dialog title={t("open.title")}>
      <OpenPath onDone={() => store.set({ dialog: "traces" })} />
    </Dialog>
  );
}

export function Dialogs() {
  const dialog = useAppState((s) => s.dialog);
  if (dialog === "help") return <Help />;
  if (dialog === "palette") return <Palette />;
  if (dialog === "open") return <Open />;
  return dialog === "traces" ? <Traces /> : null;
}
