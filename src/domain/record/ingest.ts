/** Where finished requests go: each as the JSON text of its record, every one at most once however often it is sent. */
export type RecordSink = { ingestJson(records: readonly string[]): Promise<void> };

/** The store can never take this record, however often it is tried; other failures pass. */
export class RecordRejected extends Error {
  constructor(why: string) {
    super(why);
    this.name = "RecordRejected";
  }
}
