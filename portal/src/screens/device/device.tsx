import { useMutation, useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { useSearchParams } from "../../address.ts";
import { apiErrorOf } from "../../api/error.ts";
import { useReauthentication } from "../../api/fresh.ts";
import { useMe } from "../../api/me.ts";
import { decideDevice, deviceCode } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { AuthCard } from "../sign-in/auth-card.tsx";

/** The code that a command line or another client shows: it gets a session of its own when it is allowed. */
export function Screen() {
  const search = useSearchParams();
  const code = search.get("user_code");
  return code === "" ? (
    <Enter onCode={(typed) => search.set({ user_code: typed })} />
  ) : (
    <Decide code={code} onOther={() => search.set({ user_code: null })} />
  );
}

function Enter({ onCode }: { readonly onCode: (code: string) => void }) {
  const [typed, setTyped] = useState("");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onCode(typed.trim().toUpperCase());
  };
  return (
    <AuthCard title="Connect a device" about="Enter the code that your command line or client shows.">
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
        <Button type="submit" look="primary">
          Go on
        </Button>
      </form>
    </AuthCard>
  );
}

function Decide({ code, onOther }: { readonly code: string; readonly onOther: () => void }) {
  const me = useMe();
  const runReauthenticated = useReauthentication();
  const asked = useQuery({ queryKey: ["device", code], queryFn: () => deviceCode(code), retry: false });
  const decide = useMutation({
    mutationFn: (decision: "approve" | "deny") => runReauthenticated(() => decideDevice(decision, code)),
    onSuccess: () => asked.refetch(),
  });
  if (asked.isPending) return <SkeletonLines count={4} />;
  const other = (
    <Button look="quiet" size="small" onClick={onOther}>
      Enter another code
    </Button>
  );
  if (asked.error !== null)
    return (
      <AuthCard title="This code does not work" footer={other}>
        <Callout tone="bad">{apiErrorOf(asked.error).message}</Callout>
      </AuthCard>
    );
  if (decide.data !== undefined || asked.data.status !== "pending") {
    const isIn = decide.variables === "approve" || asked.data.status === "approved";
    return (
      <AuthCard title={isIn ? "The device is connected" : "The device was refused"} footer={other}>
        <Callout tone={isIn ? "good" : "warn"}>
          {isIn
            ? "Go back to it: it goes on by itself. You find it among the sessions of your account."
            : "It got nothing."}
        </Callout>
      </AuthCard>
    );
  }
  return (
    <AuthCard
      title="Connect this device?"
      about={`It will act as ${me.data?.email ?? "you"}, with your roles, until you end its session.`}
      footer={other}
    >
      <p className="rounded-md border bg-sunken py-3 text-center font-mono text-xl tracking-[0.2em]">{code}</p>
      <p className="text-soft">
        Only go on if your own device shows this very code, and you asked it to sign in just now.
      </p>
      <ErrorNote error={decide.error} />
      <div className="grid grid-cols-2 gap-2">
        <Button onClick={() => decide.mutate("deny")} disabled={decide.isPending}>
          Refuse
        </Button>
        <Button look="primary" onClick={() => decide.mutate("approve")} busy={decide.isPending}>
          Connect
        </Button>
      </div>
    </AuthCard>
  );
}
