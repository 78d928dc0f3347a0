import { ApiError } from "../api/error.ts";

type Asked = { readonly answer: Promise<void>; readonly again: () => void; readonly giveUp: () => void };

/** The question whether it is still them: asked once, however many changes wait for its answer. */
export class Proof {
  #asked: Asked | null = null;

  ask(): Promise<void> {
    this.#asked ??= ask();
    return this.#asked.answer;
  }

  end(how: "again" | "giveUp"): void {
    const asked = this.#asked;
    this.#asked = null;
    asked?.[how]();
  }
}

function ask(): Asked {
  let [again, giveUp] = [() => {}, () => {}];
  const answer = new Promise<void>((resolve, reject) => {
    again = resolve;
    giveUp = () => reject(new ApiError({ status: 0, code: "cancelled", message: "Nothing was changed." }));
  });
  return { answer, again, giveUp };
}
