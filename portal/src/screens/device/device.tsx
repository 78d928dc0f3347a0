import { useMutation, useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { apiErrorOf } from "../../api/error.ts";
import { useMe } from "../../api/me.ts";
import { decideDevice, deviceCode } from "../../api/people.ts";
import { useReauthentication } from "../../api/reauthentication.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { useSearchParams } from "../../url-state.ts";
import { AuthCard } from "../sign-in/auth-card.tsx";

/** Device authorization: approves the code that the CLI or another client shows. */
export function Screen() {
  const search = useSearchParams();
  const code = search.get("user_code");
  return code === "" ? (
    <CodeEntry onCode={(typed) => search.set({ user_code: typed })} />
  ) : (
    <DeviceDecision code={code} onOther={() => search.set({ user_code: null })} />
  );
}

function CodeEntry({ onCode }: { readonly onCode: (code: string) => void }) {
  const [typed, setTyped] = useState("");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onCode(typed.trim().toUpperCase());
  };
  return (
    <AuthCard title="Connect device" about="Enter the code shown by the CLI or client.">
      <form onSubmit={submit} className="grid gap-4">
        <Field label="Code">
          <Input
            mono
            autoFocus
            required
            autoComplete="off"
            spellCheck={false}
            autoCapitalize="characters"
            placeholder="ABCD-EFGH"
            maxLength={16}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            className="text-center text-lg tracking-[0.2em] uppercase"
          />
        </Field>
        <Button type="submit" variant="primary">
          Continue
        </Button>
      </form>
    </AuthCard>
  );
}

function DeviceDecision({ code, onOther }: { readonly code: string; readonly onOther: () => void }) {
  const me = useMe();
  const runReauthenticated = useReauthentication();
  const deviceStatus = useQuery({ queryKey: ["device", code], queryFn: () => deviceCode(code), retry: false });
  const decide = useMutation({
    mutationFn: (decision: "approve" | "deny") => runReauthenticated(() => decideDevice(decision, code)),
    onSuccess: () => deviceStatus.refetch(),
  });
  if (deviceStatus.isPending) return <SkeletonLines count={4} />;
  const other = (
    <Button variant="quiet" size="small" onClick={onOther}>
      Enter another code
    </Button>
  );
  if (deviceStatus.error !== null)
    return (
      <AuthCard title="Invalid code" footer={other}>
        <Callout tone="bad">{apiErrorOf(deviceStatus.error).message}</Callout>
      </AuthCard>
    );
  if (decide.data !== undefined || deviceStatus.data.status !== "pending") {
    const isApproved = decide.variables === "approve" || deviceStatus.data.status === "approved";
    return (
      <AuthCard title={isApproved ? "Device connected" : "Device rejected"} footer={other}>
        <Callout tone={isApproved ? "good" : "warn"}>
          {isApproved
            ? "Return to the device, which continues automatically. It is listed under Sessions in your account."
            : "The device has no access."}
        </Callout>
      </AuthCard>
    );
  }
  return (
    <AuthCard
      title="Connect this device?"
      about={`The device acts as ${me.data?.email ?? "you"}, with your roles, until you end its session.`}
      footer={other}
    >
      <p className="rounded-md border bg-sunken py-3 text-center font-mono text-xl tracking-[0.2em]">{code}</p>
      <p className="text-soft">Only connect if your device shows this code and you just started signing in on it.</p>
      <ErrorNote error={decide.error} />
      <div className="grid grid-cols-2 gap-2">
        <Button onClick={() => decide.mutate("deny")} disabled={decide.isPending}>
          Reject
        </Button>
        <Button variant="primary" onClick={() => decide.mutate("approve")} busy={decide.isPending}>
          Connect device
        </Button>
      </div>
    </AuthCard>
  );
}
