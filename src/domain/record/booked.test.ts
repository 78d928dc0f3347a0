import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { finishedRecord } from "../../../tests/support/records.ts";
import { readBooked } from "./booked.ts";

const read = (value: unknown) => readBooked(Buffer.from(JSON.stringify(value)));

describe("the fields that are booked", () => {
  test("BILL-02 are those of the whole record, whatever texts are in it", () => {
    const tricky = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom(',"overheadMs":1', '"},"overheadMs":', '\\",\\"overheadMs\\":', "}"),
    );
    fc.assert(
      fc.property(tricky, tricky, tricky, fc.dictionary(tricky, tricky), (app, model, reason, price) => {
        const plain = finishedRecord("r1", { app, model, errorCode: reason });
        const record = { ...plain, charge: plain.charge && { ...plain.charge, price } };
        expect(JSON.parse(JSON.stringify(record))).toMatchObject(read(record));
      }),
    );
  });

  test("BILL-02 are found in a text of another order, and in one that has a field of the same name inside", () => {
    const record = finishedRecord("r1");
    const { charge, ...others } = record;
    expect(read({ ...others, charge }).charge).toEqual(charge);
    expect(read(Object.fromEntries(Object.entries(record).toReversed()))).toEqual(record);
    const price = { currency: "EUR", overheadMs: 1 };
    const nested = { ...record, charge: charge && { ...charge, price } };
    expect(read(nested).charge?.price).toEqual(price);
  });

  test("BILL-02 a text that is no record is refused", () => {
    expect(() => readBooked(Buffer.from('{"id":"r1","overheadMs":'))).toThrow(SyntaxError);
  });
});
