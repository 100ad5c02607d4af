import { useEffect, useState } from "react";

import { api } from "../api/client";
import type { FolderMessage } from "../api/messages";
import { useApp, useAppState } from "./context";

/** The folder of a path that is being typed, and what is typed of the name in it. */
export function splitPath(path: string): [string, string] {
  const at = path.lastIndexOf("/");
  return at < 0 ? ["", path] : [path.slice(0, at) || "/", path.slice(at + 1)];
}

/** A path is typed, completed from the folders that may be opened, and read. */
export function OpenPath({ onDone }: { onDone?: () => void }) {
  const { store, actions, t } = useApp();
  const roots = useAppState((s) => s.session?.roots) ?? [];
  const [path, setPath] = useState(roots[0] ? `${roots[0].replace(/\/$/, "")}/` : "");
  const [folder, setFolder] = useState<FolderMessage | null>(null);
  const [current, setCurrent] = useState(0);
  const [dir, typed] = splitPath(path);
  useEffect(() => {
    let isCurrent = true;
    // Again while it is typed: files may have come meanwhile. A folder that there is not, or that may
    // not be seen, has no entries: opening it reports why.
    const timer = setTimeout(() => {
      api.browse(dir).then(
        (found) => isCurrent && setFolder(found),
        () => isCurrent && setFolder(null),
      );
    }, 80);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [dir, typed]);
  const entries = (folder?.entries ?? []).filter((e) => e.name.toLowerCase().startsWith(typed.toLowerCase()));
  const take = (entry: FolderMessage["entries"][number]) => {
    setPath(`${dir === "/" ? "" : dir}/${entry.name}${entry.folder && entry.format === "" ? "/" : ""}`);
    setCurrent(0);
  };
  const open = () => {
    store.set({ error: "" });
    api.open(path.replace(/(.)\/$/, "$1")).then(() => onDone?.(), actions.fail);
  };
  return (
    <form
      className="open-path"
      onSubmit={(event) => {
        event.preventDefault();
        open();
      }}
    >
      <div className="toolbar">
        <input
          autoFocus
          className="grow"
          value={path}
          spellCheck={false}
          aria-label={t("open.path")}
          placeholder={t("open.path")}
          onChange={(event) => {
            setPath(event.target.value);
            setCurrent(0);
          }}
          onKeyDown={(event) => {
            const entry = entries[current];
            if (event.key === "ArrowDown") setCurrent((c) => Math.min(entries.length - 1, c + 1));
            else if (event.key === "ArrowUp") setCurrent((c) => Math.max(0, c - 1));
            else if (event.key === "Tab" && !event.shiftKey && entry && entry.name !== typed) take(entry);
            else return;
            event.preventDefault();
          }}
        />
        <button type="submit">{t("open.do")}</button>
      </div>
      <ul className="commands entries" role="listbox" aria-label={t("open.path")} data-testid="entries">
        {entries.slice(0, 200).map((entry, i) => (
          <li
            key={entry.name}
            role="option"
            aria-selected={i === current}
            onPointerDown={(event) => {
              event.preventDefault();
              take(entry);
            }}
          >
            {entry.name}
            {entry.folder ? "/" : ""} <small>{entry.format}</small>
          </li>
        ))}
      </ul>
      <small>{t("open.roots", roots.join(", "))}</small>
    </form>
  );
}
