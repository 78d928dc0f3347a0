import { useNow } from "../../ui/values.tsx";

const SECOND_MS = 1000;

/** The remaining time, updated every second. */
export function Countdown({ until }: { readonly until: string }) {
  const nowMs = useNow(true, SECOND_MS);
  const remainingMs = Math.max(0, Date.parse(until) - nowMs);
  return (
    <span role="timer" className="figures whitespace-nowrap" title={new Date(until).toLocaleString()}>
      {remainingText(remainingMs)}
    </span>
  );
}

/** "6 d 23:04:59". */
function remainingText(remainingMs: number): string {
  const seconds = Math.floor(remainingMs / SECOND_MS);
  const two = (value: number) => String(value).padStart(2, "0");
  const days = Math.floor(seconds / 86_400);
  const clock = [Math.floor((seconds % 86_400) / 3600), Math.floor((seconds % 3600) / 60), seconds % 60].map(two);
  return `${days > 0 ? `${days} d ` : ""}${clock.join(":")}`;
}
