import { countTokens as countOlder } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { conservativeTextTokens, expectedTextTokens, weightOf } from "./tokens.ts";

const SENTENCES = {
  English:
    "Please read the report of last week, tell me what has changed since, and write a short answer to the office.",
  German: "Bitte lesen Sie den Bericht der letzten Woche und schreiben Sie eine kurze Antwort für das Büro in München.",
  French: "Où est passée la déclaration de l'été dernier ? Il faudra l'envoyer au siège avant la fin de la journée.",
  Polish: "Proszę przeczytać raport z zeszłego tygodnia i napisać krótką odpowiedź jeszcze przed końcem dnia.",
  Hungarian: "Kérem, olvassa el a múlt heti jelentést, és írjon egy rövid választ még a munkanap vége előtt.",
  Greek: "Παρακαλώ διαβάστε την έκθεση της περασμένης εβδομάδας και γράψτε μια σύντομη απάντηση πριν από το βράδυ.",
  Bulgarian: "Моля, прочетете доклада от миналата седмица и напишете кратък отговор преди края на работния ден.",
  Russian: "Пожалуйста, прочитайте отчёт за прошлую неделю и напишите короткий ответ до конца рабочего дня.",
  Hebrew: "אנא קראו את הדוח של השבוע שעבר וכתבו תשובה קצרה לפני סוף יום העבודה.",
  Arabic: "من فضلك اقرأ تقرير الأسبوع الماضي واكتب جوابا قصيرا قبل نهاية يوم العمل.",
  Hindi: "कृपया पिछले सप्ताह की रिपोर्ट पढ़ें और दिन समाप्त होने से पहले एक छोटा उत्तर लिखें।",
  Thai: "กรุณาอ่านรายงานของสัปดาห์ที่แล้วและเขียนคำตอบสั้น ๆ ก่อนสิ้นวัน",
  Chinese: "请阅读上周的报告,说明之后有哪些变化,并在今天下班之前写一封简短的回信。",
  Japanese: "先週の報告書を読んで、その後に何が変わったかを説明し、今日中に短い返事を書いてください。",
  Korean: "지난주 보고서를 읽고 그 뒤로 무엇이 바뀌었는지 설명한 다음 오늘 안에 짧은 답장을 써 주세요.",
};

test.each(Object.entries(SENTENCES))(
  "BILL-02 the expected token count of %s is close to a tokenizer's",
  (_language, text) => {
    const share = expectedTextTokens(text) / countTokens(text);
    expect(share).toBeGreaterThan(0.7);
    expect(share).toBeLessThan(1.6);
  },
);

test.each(Object.entries(SENTENCES))(
  "BILL-03 the conservative token count of %s exceeds a tokenizer's",
  (_language, text) => {
    const reserved = 1.3 * conservativeTextTokens(text);
    expect(conservativeTextTokens(text)).toBeGreaterThanOrEqual(expectedTextTokens(text));
    expect(reserved).toBeGreaterThanOrEqual(countTokens(text));
    // Older ones take a token for nearly every letter of some scripts.
    expect(reserved).toBeGreaterThanOrEqual(0.75 * countOlder(text));
  },
);

test("BILL-02 the weights of a text's parts add up to the weight of the whole", () => {
  for (const text of Object.values(SENTENCES))
    for (const size of [1, 3, 7]) {
      let weight = 0;
      for (let from = 0; from < text.length; from += size) weight += weightOf(text.slice(from, from + size));
      expect(weight).toBe(weightOf(text));
    }
});

test("SAFE-01 the weight of a very long text is estimated from samples, closely", () => {
  for (const unit of [
    SENTENCES.German,
    SENTENCES.Chinese,
    SENTENCES.Russian,
    `${SENTENCES.Japanese}${SENTENCES.English}`,
  ]) {
    const times = Math.ceil(3_000_000 / unit.length);
    expect(weightOf(unit.repeat(times)) / (times * weightOf(unit))).toBeCloseTo(1, 2);
  }
});
