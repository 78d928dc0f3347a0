import { type ComponentType, lazy, type ReactNode, type RefObject, Suspense, useLayoutEffect, useRef } from "react";

/**
 * A component that is loaded after the first screen. Until then, and if loading fails, the placeholder stands for it:
 * it has the same props and the same size. A focus on the placeholder moves to the component.
 */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  Placeholder: ComponentType<Props>,
): ComponentType<Props> {
  const Loaded = lazy(() =>
    load().then(
      (component) => ({ default: component }),
      () => ({ default: Placeholder }),
    ),
  );
  return function Later(props: Props) {
    const focused = useRef<FocusedPosition | undefined>(undefined);
    return (
      <Suspense
        fallback={
          <FocusSource focused={focused}>
            <Placeholder {...props} />
          </FocusSource>
        }
      >
        <Loaded {...props} />
        <FocusTarget focused={focused} />
      </Suspense>
    );
  };
}

export function Nothing() {
  return null;
}

/** Where the placeholder with the focus was: the component is inserted there. */
type FocusedPosition = { readonly parent: Element; readonly index: number };
type FocusProps = { readonly focused: RefObject<FocusedPosition | undefined> };

function FocusSource({ focused, children }: FocusProps & { readonly children: ReactNode }) {
  const box = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    return () => {
      const parent = element?.parentElement;
      if (element === null || parent === null || parent === undefined) return;
      if (element.contains(document.activeElement))
        focused.current = { parent, index: [...parent.children].indexOf(element) };
    };
  }, [focused]);
  return (
    <span ref={box} className="contents">
      {children}
    </span>
  );
}

const FOCUSABLE = "button, a[href], input, select, textarea, [tabindex]";

function FocusTarget({ focused }: FocusProps) {
  useLayoutEffect(() => {
    if (focused.current === undefined) return;
    const { parent, index } = focused.current;
    focused.current = undefined;
    const element = parent.children[index];
    const target = element?.matches(FOCUSABLE) === true ? element : element?.querySelector(FOCUSABLE);
    if (target instanceof HTMLElement) target.focus();
  }, [focused]);
  return null;
}
