import { TYPED } from "../format/decimal.ts";
import { Input } from "./field.tsx";

type Props = {
  /** As it was typed; `decimalOf` reads it. */
  readonly value: string;
  readonly onChange: (typed: string) => void;
  readonly placeholder: string;
  readonly required?: boolean | undefined;
};

/** A positive number; what may be meant in two ways is refused, never guessed. */
export function DecimalInput({ value, onChange, placeholder, required = true }: Props) {
  return (
    <Input
      required={required}
      inputMode="decimal"
      placeholder={placeholder}
      pattern={TYPED}
      title={`A positive number with at most 9 places and nothing between thousands, such as ${placeholder}`}
      value={value}
      onChange={(event) => onChange(event.target.value.trim())}
      className="figures"
    />
  );
}
