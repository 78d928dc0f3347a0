import { Field, Input } from "../../ui/field.tsx";

const PASSWORD_LEAST = 12;

type Props = {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | undefined;
  readonly label?: string | undefined;
};

export function NewPassword({ value, onChange, error, label = "Password" }: Props) {
  return (
    <Field
      label={label}
      hint={`At least ${PASSWORD_LEAST} characters. A few words that only you would put together are best.`}
      error={error}
    >
      <Input
        type="password"
        name="new-password"
        autoComplete="new-password"
        required
        minLength={PASSWORD_LEAST}
        maxLength={256}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

/** The one that the person has. */
export function OwnPassword({ value, onChange, label = "Your password" }: Omit<Props, "error">) {
  return (
    <Field label={label}>
      <Input
        type="password"
        name="password"
        autoComplete="current-password"
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}
