import { createContext } from "react";

/** True while the screen is hidden: its dialogs keep their input but are neither shown nor operable. */
export const ModalsHidden = createContext(false);
