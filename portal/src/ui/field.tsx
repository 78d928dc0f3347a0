import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useContext,
  useId,
} from "react";
import { cx } from "./class-names.ts";
import { Icon } from "./icon.tsx";
import { scrollIntoView } from "./scroll-into-view.ts";

type FieldIds = { readonly id: string; readonly describedBy: string | undefined; readonly hasError: boolean };
const FieldContext = createContext<FieldIds | undefined>(undefined);

type FieldProps = {
  readonly label: ReactNode;
  readonly hint?: ReactNode | undefined;
  /** The error message, announced immediately. */
  readonly error?: ReactNode | undefined;
  readonly optional?: boolean | undefined;
  /** Visually hides the label. */
  readonly hideLabel?: boolean | undefined;
  readonly className?: string | undefined;
  readonly children: ReactNode;
};

/** Label, hint and error around one control, which gets its IDs from the context. */
export function Field({ label, hint, error, optional = false, hideLabel = false, className, children }: FieldProps) {
  const id = useId();
  const hasHint = hint !== undefined && hint !== null;
  const hasError = error !== undefined && error !== null && error !== "";
  const describedBy = cx(hasHint && `${id}-hint`, hasError && `${id}-error`) || undefined;
  return (
    <div className={cx("grid min-w-0 content-start gap-1", className)}>
      <label htmlFor={id} className={cx("font-medium text-ink", hideLabel && "sr-only")}>
        {label}
        {optional && <span className="font-normal text-faint"> (optional)</span>}
      </label>
      <FieldContext value={{ id, describedBy, hasError }}>{children}</FieldContext>
      {hasHint && (
        <p id={`${id}-hint`} className="text-xs text-soft">
          {hint}
        </p>
      )}
      <p
        id={`${id}-error`}
        role="alert"
        className={cx("flex items-start gap-1 text-xs text-bad", !hasError && "hidden")}
      >
        {hasError && (
          <>
            <Icon name="warning" className="mt-px size-3.5" />
            <span ref={scrollIntoView} className="scroll-mt-20 scroll-mb-20">
              {error}
            </span>
          </>
        )}
      </p>
    </div>
  );
}

/** The ID attributes of the surrounding field. */
export function useFieldIds() {
  const field = useContext(FieldContext);
  if (field === undefined) return {};
  return {
    id: field.id,
    ...(field.describedBy === undefined ? {} : { "aria-describedby": field.describedBy }),
    ...(field.hasError ? { "aria-invalid": true } : {}),
  };
}

/** The look of a text field, also of pickers. */
export const CONTROL =
  "w-full min-w-0 rounded-md border border-line-strong/70 bg-card px-2.5 text-ink transition-colors hover:border-line-strong disabled:bg-sunken disabled:text-soft aria-invalid:border-bad";

export function Input({
  className,
  mono = false,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { readonly mono?: boolean | undefined }) {
  return (
    <input
      {...useFieldIds()}
      {...rest}
      className={cx(CONTROL, "h-9", mono && "font-mono text-[0.8125rem]", className)}
    />
  );
}

export function Textarea({
  className,
  mono = false,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { readonly mono?: boolean | undefined }) {
  return (
    <textarea
      rows={4}
      {...useFieldIds()}
      {...rest}
      className={cx(CONTROL, "py-2", mono && "font-mono text-[0.8125rem]", className)}
    />
  );
}

export type Option = { readonly value: string; readonly label: string; readonly disabled?: boolean | undefined };

export function Select({
  className,
  options,
  children,
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> & { readonly options?: readonly Option[] | undefined }) {
  return (
    <span className={cx("relative inline-block w-full", className)}>
      <select {...useFieldIds()} {...rest} className={cx(CONTROL, "h-9 appearance-none pr-8")}>
        {options?.map(({ value, label, disabled }) => (
          <option key={value} value={value} disabled={disabled}>
            {label}
          </option>
        ))}
        {children}
      </select>
      <Icon name="down" className="pointer-events-none absolute top-2.5 right-2.5 text-soft" />
    </span>
  );
}

type CheckProps = Omit<InputHTMLAttributes<HTMLInputElement>, "type" | "onChange"> & {
  readonly label: ReactNode;
  readonly hint?: ReactNode | undefined;
  readonly onChange?: ((checked: boolean) => void) | undefined;
};

export function Checkbox({ label, hint, onChange, className, ...rest }: CheckProps) {
  const id = useId();
  return (
    <div className={cx("flex items-start gap-2.5", className)}>
      <input
        {...rest}
        id={id}
        type="checkbox"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange?.(event.target.checked)}
        className="mt-0.5 size-4.5 shrink-0"
      />
      <label htmlFor={id} className="min-h-6 min-w-0">
        {label}
        {hint !== undefined && (
          <span id={`${id}-hint`} className="block text-xs text-soft">
            {hint}
          </span>
        )}
      </label>
    </div>
  );
}

/** For settings that take effect immediately. */
export function Switch({ label, hint, onChange, className, ...rest }: CheckProps) {
  const id = useId();
  return (
    <div className={cx("flex items-start justify-between gap-4", className)}>
      <label htmlFor={id} className="min-w-0">
        <span className="font-medium">{label}</span>
        {hint !== undefined && (
          <span id={`${id}-hint`} className="block text-xs text-soft">
            {hint}
          </span>
        )}
      </label>
      <input
        {...rest}
        id={id}
        type="checkbox"
        // biome-ignore lint/a11y/useAriaPropsForRole: a checkbox has an implicit checked state
        role="switch"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange?.(event.target.checked)}
        className="relative h-6 w-10 shrink-0 cursor-pointer appearance-none rounded-full border border-line-strong bg-sunken transition-colors before:absolute before:top-[3px] before:left-[3px] before:size-4 before:rounded-full before:bg-soft before:transition-transform checked:border-accent checked:bg-accent checked:before:translate-x-4 checked:before:bg-on-accent disabled:opacity-50"
      />
    </div>
  );
}

type SliderProps = Omit<InputHTMLAttributes<HTMLInputElement>, "type" | "onChange" | "value"> & {
  readonly value: number;
  readonly onChange: (value: number) => void;
  /** The value as text, such as "40%". */
  readonly valueText?: string | undefined;
};

export function Slider({ value, onChange, valueText, className, ...rest }: SliderProps) {
  return (
    <span className={cx("flex items-center gap-3", className)}>
      <input
        {...useFieldIds()}
        {...rest}
        type="range"
        value={value}
        aria-valuetext={valueText}
        onChange={(event) => onChange(event.target.valueAsNumber)}
        className="h-6 min-w-0 flex-1"
      />
      <output className="figures w-12 text-right text-soft">{valueText ?? value}</output>
    </span>
  );
}
