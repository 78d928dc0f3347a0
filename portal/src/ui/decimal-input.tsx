import { DECIMAL_PATTERN } from "../format/decimal.ts";
import { Input } from "./field.tsx";

type Props = {
  /** As it was typed; `decimalOf` reads it. */
  readonly value: string;
  readonly onChange: (typed: string) => void;
  readonly example?: string | undefined;
  /** What it means that nothing was typed; absent: something must be. */
  readonly empty?: string | undefined;
};

/** A positive number; what may be meant in two ways is refused, never guessed. */
export function DecimalInput({ value, onChange, example = "1250.00", empty }: Props) {
  return (
    <Input
      required={empty === undefined}
      inputMode="decimal"
      placeholder={empty ?? example}
      pattern={DECIMAL_PATTERN}
      title={`A positive number with at most 9 places and nothing between thousands, such as ${example}`}
      value={value}
      onChange={(event) => onChange(event.target.value.trim())}
      className="figures"
    />
  );
}
