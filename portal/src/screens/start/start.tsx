import { useEffect, useState } from "react";
import { pathIn, useNavigateTo } from "../../address.ts";
import { type Me, useMe, useSignInMethods } from "../../api/me.ts";
import { useResetAfterSignIn } from "../../api/people.ts";
import { baseUrl } from "../../base-address.ts";
import { lastWorkspace } from "../../shell/last-workspace.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { CreateWorkspace } from "../operator/create-workspace.tsx";
import { Receipt } from "./receipt.tsx";

/** Leads whoever is signed in to the workspace that was looked at last; everybody else is told what this is. */
export function Screen() {
  const me = useMe();
  const go = useNavigateTo();
  const workspace = me.data === null || me.data === undefined ? "" : lastWorkspace(me.data);
  const isOperator = me.data?.operator === true;
  useEffect(() => {
    if (workspace !== "") go(pathIn(workspace), "replace");
    else if (isOperator) go("/app/operator", "replace");
  }, [workspace, isOperator, go]);
  if (me.isPending || workspace !== "" || isOperator) return <SkeletonLines count={4} />;
  if (me.data !== null && me.data !== undefined) return <NoWorkspaceYet me={me.data} />;
  return <Welcome />;
}

function Welcome() {
  const isSetUp = useSignInMethods().data?.setup_needed !== true;
  const base = baseUrl();
  return (
    <div className="grid w-full max-w-5xl items-center gap-x-14 gap-y-10 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="grid gap-6">
        <div className="grid gap-3">
          <h1 className="text-3xl leading-[1.1] sm:text-4xl tracking-tight">
            One address for many models. Every answer says where it came from.
          </h1>
          <p className="max-w-lg text-base text-soft text-pretty">
            A gateway for European teams: you set the floor of sovereignty, it chooses the endpoint, and the receipt
            says who served the answer, in which country, under whose law, and what it cost.
          </p>
        </div>
        {!isSetUp && (
          <Callout tone="warn" title="This gateway is not set up yet">
            Open the one-time link that it printed when it started, or get a new one there with{" "}
            <code className="font-mono">bin/gateway setup-link</code>.
          </Callout>
        )}
        <div className="flex flex-wrap gap-2">
          <LinkButton to="/app/sign-in" look="primary">
            Sign in
          </LinkButton>
          <LinkButton to="/app/models">Look at the models</LinkButton>
        </div>
        <div className="grid max-w-lg gap-1.5">
          <p className="label-mark">Base address for any client</p>
          <CodeBlock code={base} label="Base address" />
        </div>
      </div>
      <Receipt />
    </div>
  );
}

function NoWorkspaceYet({ me }: { readonly me: Me }) {
  const go = useNavigateTo();
  const signedIn = useResetAfterSignIn();
  const [isOpen, setIsOpen] = useState(false);
  const enter = (slug: string) => void signedIn().then(() => go(pathIn(slug), "replace"));
  const hint = me.may_create_workspace
    ? "Create one: it has its own wallet, keys and policy, and you own it. Or wait for an invitation to another one."
    : `Ask an owner or admin to invite ${me.email}; then come back here.`;
  return (
    <EmptyState icon="grid" heading="h1" title="You are in no workspace yet" hint={hint}>
      {me.may_create_workspace && (
        <Button look="primary" icon="plus" onClick={() => setIsOpen(true)}>
          Create a workspace
        </Button>
      )}
      <LinkButton to="/app/models">Look at the models</LinkButton>
      <LinkButton to="/app/account">Your account</LinkButton>
      <CreateWorkspace open={isOpen} onClose={() => setIsOpen(false)} onMade={enter} />
    </EmptyState>
  );
}
