import { useState } from "react";
import { call } from "../../api/client.ts";
import { apiErrorOf } from "../../api/error.ts";
import { csvText, saveText } from "../../format/csv.ts";
import { counted } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.tsx";
import type { Entry, queryOf } from "./entry.ts";

const PAGE = 1000;
/** More lines than a spreadsheet is pleasant with; whoever needs more narrows the time. */
const LINES_MAX = 100_000;

type Props = { readonly workspace: string; readonly query: ReturnType<typeof queryOf> };

/** Loads every page that the filters mean and hands them over as one file. */
export function ExportButton({ workspace, query }: Props) {
  const [loaded, setLoaded] = useState<number>();
  const run = async () => {
    setLoaded(0);
    try {
      const lines = await allLines(query, setLoaded);
      saveText(`audit-${workspace}-${new Date().toISOString().slice(0, 10)}.csv`, linesText(lines));
      if (lines.length >= LINES_MAX)
        toast(`The newest ${LINES_MAX} lines are in the file. Narrow the time for the rest.`);
    } catch (thrown) {
      toast(apiErrorOf(thrown).message, "bad");
    }
    setLoaded(undefined);
  };
  return (
    <Button icon="download" busy={loaded !== undefined} onClick={() => void run()}>
      {loaded === undefined || loaded === 0 ? "CSV" : counted(loaded, "line")}
    </Button>
  );
}

async function allLines(query: Props["query"], onPage: (lines: number) => void): Promise<Entry[]> {
  const lines: Entry[] = [];
  let cursor: string | null = null;
  do {
    const asked = { ...query, limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const page: { data: Entry[]; next: string | null } = await call("manageListAudit", { query: asked });
    lines.push(...page.data);
    cursor = page.next;
    onPage(lines.length);
  } while (cursor !== null && lines.length < LINES_MAX);
  return lines;
}

function linesText(lines: readonly Entry[]): string {
  return csvText(
    ["at", "actor", "action", "workspace", "target", "detail", "id"],
    lines.map((line) => [
      line.at,
      line.actor,
      line.action,
      line.workspace,
      line.target,
      JSON.stringify(line.detail),
      line.id,
    ]),
  );
}
