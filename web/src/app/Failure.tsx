import { useApp } from "./context";

/** As much of an answer as views need: what the query library gives. */
export interface Answer<T> {
  data: T | undefined;
  error: Error | null;
  refetch?: () => unknown;
}

/** Why there is no answer, in the place where it would be, and a way to ask again. */
export function Failure({ of: { error, refetch } }: { of: Answer<unknown> }) {
  const { t } = useApp();
  if (!error) return null;
  return (
    <p className="failure error" role="alert">
      {error.message}
      {refetch && <button onClick={() => void refetch()}>{t("app.again")}</button>}
    </p>
  );
}
