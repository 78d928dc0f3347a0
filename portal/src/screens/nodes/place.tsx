import { useState } from "react";
import { useManageMutation } from "../../api/hooks.ts";
import { countryName } from "../../format/country.ts";
import { Button } from "../../ui/button.tsx";
import { regionsWith } from "../../ui/countries.ts";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { Country } from "../../ui/values.tsx";
import type { NodeDetail, NodeRow } from "./node.ts";

export function Place({ country, short }: { readonly country: NodeRow["country"]; readonly short?: boolean }) {
  return country === null ? <span className="text-faint">not declared</span> : <Country code={country} short={short} />;
}

/** The field of a form; an empty choice is a country that is not declared. */
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
      hint="Where the machine stands. You declare it: it can be corrected later, and is logged. Undeclared, the node is left out wherever a policy names countries."
    >
      <Select value={value} onChange={(event) => choose(event.target.value)}>
        <option value="">Not declared</option>
        {regionsWith(value === "" ? [] : [value]).map((region) => (
          <optgroup key={region.id} label={region.name}>
            {region.countries.map((code) => (
              <option key={code} value={code}>
                {countryName(code)}
              </option>
            ))}
          </optgroup>
        ))}
      </Select>
    </Field>
  );
}

export function Declare({ workspace, node }: { readonly workspace: string; readonly node: NodeDetail }) {
  const [country, setCountry] = useState(node.country ?? "");
  const change = useManageMutation("manageChangeNode", { onDone: () => toast("The next request already follows it.") });
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
        Declare
      </Button>
      <ErrorNote error={change.error} />
    </form>
  );
}
