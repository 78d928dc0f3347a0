import { CopyButton } from "../../ui/copy-button.tsx";
import { Callout } from "../../ui/layout.tsx";

/** Codes for the day when the phone is gone; shown this once. */
export function BackupCodes({ codes }: { readonly codes: readonly string[] }) {
  return (
    <>
      <Callout tone="warn">
        These are shown once. Each signs you in once, when your app is not at hand. Keep them where you keep passwords.
      </Callout>
      <ul
        aria-label="Backup codes"
        className="grid grid-cols-2 gap-x-6 gap-y-1 rounded-md border bg-sunken px-5 py-4 font-mono"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <span className="flex gap-2">
        <CopyButton text={codes.join("\n")} label="Copy the backup codes">
          Copy all
        </CopyButton>
      </span>
    </>
  );
}
