import { useState } from "react";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Callout, Card, Stack } from "../../ui/layout.tsx";
import { SaveBar } from "../../ui/save-bar.tsx";
import { toast } from "../../ui/toast.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.ts";
import { useWorkspace } from "../../url-state.ts";
import { ClassRuleForm } from "./class-rule-form.tsx";
import { BUILT_IN, type ClassRules, rulesText, withRule } from "./class-rules.ts";
import { ClassTrial } from "./class-trial.tsx";

type Props = { readonly current: ClassRules; readonly mayChange: boolean };

/** Rules for what requests and replies contain, with a text to try them on. */
export function DataClasses({ current, mayChange }: Props) {
  const { workspace } = useWorkspace();
  const [draft, setDraft] = useState<ClassRules | undefined>();
  const rules = draft ?? current;
  const own = useManage("manageListCustomClasses", { params: { workspace } });
  const isChanged = rulesText(rules) !== rulesText(current);
  useUnsavedChanges(isChanged);
  const custom = (own.data?.data ?? []).map(({ name, terms, patterns }) => ({
    name,
    description: `${terms} ${terms === 1 ? "term" : "terms"}, ${patterns} ${patterns === 1 ? "pattern" : "patterns"}.`,
  }));
  return (
    <Stack>
      {!mayChange && (
        <Callout title="Read-only">
          Only admins and owners can change the policy. You can try changes here without saving them.
        </Callout>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <Card
          title="Rules"
          about="Without a rule requests are not inspected. Keys, routers and requests can only be stricter."
          flush
        >
          <ErrorNote error={own.error} />
          {[...BUILT_IN, ...custom].map(({ name, description }) => (
            <ClassRuleForm
              key={name}
              name={name}
              description={description}
              rule={rules[name] ?? {}}
              onChange={(rule) => setDraft(withRule(rules, name, rule))}
            />
          ))}
        </Card>
        <div className="grid gap-4 lg:sticky lg:top-4">
          <ClassTrial rules={rules} />
        </div>
      </div>
      {mayChange && isChanged && <SaveRules rules={rules} discard={() => setDraft(undefined)} />}
    </Stack>
  );
}

function SaveRules({ rules, discard }: { readonly rules: ClassRules; readonly discard: () => void }) {
  const { workspace } = useWorkspace();
  const save = useManageMutation("manageChangePolicy", {
    onDone: () => {
      discard();
      toast("Rules saved");
    },
  });
  const body = { data_classes: Object.keys(rules).length === 0 ? null : rules };
  return (
    <SaveBar
      title="Rules of data classes changed"
      note="They hold from the next request on."
      actions={
        <>
          <Button onClick={discard}>Discard</Button>
          <Button variant="primary" busy={save.isPending} onClick={() => save.mutate({ params: { workspace }, body })}>
            Save rules
          </Button>
        </>
      }
    >
      <ErrorNote error={save.error} />
    </SaveBar>
  );
}
