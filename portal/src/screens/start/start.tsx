import { useEffect, useState } from "react";
import { type Me, useMe, useSignInMethods } from "../../api/me.ts";
import { useResetAfterSignIn } from "../../api/people.ts";
import { baseUrl } from "../../base-url.ts";
import { lastWorkspace } from "../../shell/last-workspace.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Callout } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { pathIn, useNavigateTo } from "../../url-state.ts";
import { CreateWorkspace } from "../operator/create-workspace.tsx";
import { Receipt } from "./receipt.tsx";

/** Redirects to the last workspace; visitors see the landing page. */
export function Screen() {
  const me = useMe();
  const navigateTo = useNavigateTo();
  const workspace = me.data === null || me.data === undefined ? "" : lastWorkspace(me.data);
  const isOperator = me.data?.operator === true;
  useEffect(() => {
    if (workspace !== "") navigateTo(pathIn(workspace), "replace");
    else if (isOperator) navigateTo("/app/operator", "replace");
  }, [workspace, isOperator, navigateTo]);
  if (me.isPending || workspace !== "" || isOperator) return <SkeletonLines count={4} />;
  if (me.data !== null && me.data !== undefined) return <NoWorkspaces me={me.data} />;
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
            One API for many models. Every response shows where it came from.
          </h1>
          <p className="max-w-lg text-base text-soft text-pretty">
            A gateway for European teams: set a sovereignty floor, let the gateway choose the endpoint, and see for each
            response which provider served it, in which country and at what cost.
          </p>
        </div>
        {!isSetUp && (
          <Callout tone="warn" title="This gateway isn't set up yet">
            Open the one-time link that the gateway printed at start, or create a new one with{" "}
            <code className="font-mono">bin/gateway setup-link</code>.
          </Callout>
        )}
        <div className="flex flex-wrap gap-2">
          <LinkButton to="/app/sign-in" variant="primary">
            Sign in
          </LinkButton>
          <LinkButton to="/app/models">View models</LinkButton>
        </div>
        <div className="grid max-w-lg gap-1.5">
          <p className="label-mark">Base URL for any client</p>
          <CodeBlock code={base} label="Base URL" />
        </div>
      </div>
      <Receipt />
    </div>
  );
}

function NoWorkspaces({ me }: { readonly me: Me }) {
  const navigateTo = useNavigateTo();
  const resetAfterSignIn = useResetAfterSignIn();
  const [isOpen, setIsOpen] = useState(false);
  const openWorkspace = (slug: string) => void resetAfterSignIn().then(() => navigateTo(pathIn(slug), "replace"));
  const hint = me.may_create_workspace
    ? "Create a workspace with its own wallet, keys and policy, or wait for an invitation."
    : `Ask a workspace owner or admin to invite ${me.email}.`;
  return (
    <EmptyState icon="grid" heading="h1" title="No workspaces yet" hint={hint}>
      {me.may_create_workspace && (
        <Button variant="primary" icon="plus" onClick={() => setIsOpen(true)}>
          Create workspace
        </Button>
      )}
      <LinkButton to="/app/models">View models</LinkButton>
      <LinkButton to="/app/account">Account settings</LinkButton>
      <CreateWorkspace open={isOpen} onClose={() => setIsOpen(false)} onCreated={openWorkspace} />
    </EmptyState>
  );
}
