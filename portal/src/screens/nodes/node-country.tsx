import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { countryName } from "../../format/country.ts";
import { Button } from "../../ui/button.tsx";
import { Combobox, type ComboboxOption } from "../../ui/combobox.tsx";
import { regionsWith } from "../../ui/countries.ts";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { Country } from "../../ui/values.tsx";
import type { NodeDetail, NodeRow } from "./node.ts";

export function NodeCountry({ country, short }: { readonly country: NodeRow["country"]; readonly short?: boolean }) {
  return country === null ? <span className="text-faint">Not declared</span> : <Country code={country} short={short} />;
}

/** Empty: not declared. */
export function CountryField({
  value,
  choose,
}: {
  readonly value: string;
  readonly choose: (country: string) => void;
}) {
  return (
    <Field
      label="Country"
      hint="The location of the machine, as declared by you. It decides the level: L1 in the EEA, L0 elsewhere. Without a country, every floor and country restriction excludes the node. Changes are logged and end an attestation."
    >
      <Combobox value={value} onChange={choose} options={countryOptions(value)} searchPlaceholder="Search countries" />
    </Field>
  );
}

function countryOptions(current: string): readonly ComboboxOption[] {
  const known = regionsWith(current === "" ? [] : [current]).flatMap(({ name, countries }) =>
    countries.map((code) => ({ value: code, label: countryName(code), group: name })),
  );
  return [{ value: "", label: "Not declared" }, ...known];
}

export function CountryForm({ workspace, node }: { readonly workspace: string; readonly node: NodeDetail }) {
  const [country, setCountry] = useState(node.country ?? "");
  const change = useManageMutation("manageChangeNode", { onDone: () => toast("Country saved") });
  const body = { country: country === "" ? null : country };
  return (
    <form
      className="grid gap-3 border-t pt-4"
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate({ params: { workspace, node: node.name }, body });
      }}
    >
      <CountryField value={country} choose={setCountry} />
      <Button
        type="submit"
        className="justify-self-start"
        disabled={body.country === node.country}
        busy={change.isPending}
      >
        Save country
      </Button>
      <ErrorNote error={change.error} />
    </form>
  );
}
