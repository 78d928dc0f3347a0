import { invalidValue } from "../../contract/faults.ts";
import type { DecisionRequest, Question } from "../../contract/schemas/decisions.ts";
import { assignQuestionIds, type DecisionCall, type DecisionQuestion } from "./call.ts";
import { type DecisionImage, decodeImage } from "./image.ts";

/** The canonical questions behind a request of the specified shape. */
export function decodeRequest({ model, state, questions, images }: DecisionRequest): DecisionCall {
  const asked = Object.entries(questions);
  const ids = assignQuestionIds(asked.map(([key]) => key));
  return {
    model,
    state,
    questions: asked.map(([key, question], place) => decodeQuestion(question, { key, id: ids[place] ?? key })),
    images: (images ?? []).map((url, place) => decodeImageParam(url, `images.${place}`)),
  };
}

function decodeQuestion(question: Question, names: Pick<DecisionQuestion, "key" | "id">): DecisionQuestion {
  const { instructions } = question;
  switch (question.type) {
    case "noul":
      return { ...names, instructions, type: "noul" };
    case "choice": {
      const options = Object.entries(question.criteria).map(([name, description]) => ({ name, description }));
      return { ...names, instructions, type: "choice", options };
    }
    case "score":
      return { ...names, instructions, type: "score", levels: question.criteria };
  }
}

export function decodeImageParam(url: string, param: string): DecisionImage {
  const image = decodeImage(url);
  if ("problem" in image) throw invalidValue(param, image.problem);
  return image;
}
