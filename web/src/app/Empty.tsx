/** Why there is nothing, and what to switch on. */
export function Empty({ title, help }: { title: string; help: string }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>{help}</p>
    </div>
  );
}
