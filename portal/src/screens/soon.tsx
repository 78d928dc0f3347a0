import { EmptyState } from "../ui/empty-state.tsx";

/** Stands in for a screen that is being built. */
export function Screen() {
  return <EmptyState icon="clock" title="This screen is being built" hint="The management API can do it already." />;
}
