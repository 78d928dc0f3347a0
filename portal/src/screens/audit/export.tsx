import { useState } from "react";
import { call } from "../../api/client.ts";
import { apiErrorOf } from "../../api/error.ts";
import { csvText, downloadCsv } from "../../format/csv.ts";
import { counted } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.tsx";
import type { Entry, queryOf } from "./entry.ts";

const PAGE = 1000;
/** Keeps the file usable in a spreadsheet. */
const ENTRIES_MAX = 100_000;

type Props = { readonly workspace: string; readonly query: ReturnType<typeof queryOf> };

/** Loads all pages of the filtered log into one CSV file. */
export function ExportButton({ workspace, query }: Props) {
  const [loaded, setLoaded] = useState<number>();
  const run = async () => {
    setLoaded(0);
    try {
      const entries = await fetchAllEntries(query, setLoaded);
      downloadCsv(`audit-${workspace}-${new Date().toISOString().slice(0, 10)}.csv`, entriesCsv(entries));
      if (entries.length >= ENTRIES_MAX)
        toast(`The file contains the newest ${ENTRIES_MAX} entries. Choose a shorter period to export the rest.`);
    } catch (thrown) {
      toast(apiErrorOf(thrown).message, "bad");
    }
    setLoaded(undefined);
  };
  return (
    <Button icon="download" busy={loaded !== undefined} onClick={() => void run()}>
      {loaded === undefined || loaded === 0 ? "Export CSV" : counted(loaded, "entry", "entries")}
    </Button>
  );
}

async function fetchAllEntries(query: Props["query"], onPage: (entries: number) => void): Promise<Entry[]> {
  const entries: Entry[] = [];
  let cursor: string | null = null;
  do {
    const pageQuery = { ...query, limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const page: { data: Entry[]; next: string | null } = await call("manageListAudit", { query: pageQuery });
    entries.push(...page.data);
    cursor = page.next;
    onPage(entries.length);
  } while (cursor !== null && entries.length < ENTRIES_MAX);
  return entries;
}

function entriesCsv(entries: readonly Entry[]): string {
  return csvText(
    ["at", "actor", "action", "workspace", "target", "detail", "id"],
    entries.map((entry) => [
      entry.at,
      entry.actor,
      entry.action,
      entry.workspace,
      entry.target,
      JSON.stringify(entry.detail),
      entry.id,
    ]),
  );
}
