import { Field, Input } from "../../ui/field.tsx";

const PASSWORD_LENGTH_MIN = 12;

type Props = {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | undefined;
  readonly label?: string | undefined;
};

export function NewPasswordField({ value, onChange, error, label = "Password" }: Props) {
  return (
    <Field
      label={label}
      hint={`At least ${PASSWORD_LENGTH_MIN} characters. A passphrase of several words works well.`}
      error={error}
    >
      <Input
        type="password"
        name="new-password"
        autoComplete="new-password"
        required
        minLength={PASSWORD_LENGTH_MIN}
        maxLength={256}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

export function CurrentPasswordField({ value, onChange, label = "Password" }: Omit<Props, "error">) {
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
