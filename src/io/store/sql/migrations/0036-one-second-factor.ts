const BY_PERSON = "people_two_factors_by_person";

/**
 * Earlier versions could leave two second factors of one person, when two were added at the same moment. The one that a
 * code has confirmed stays, before those that wait for one, and of several the newest: ids sort by time. The index goes
 * first, which keeps instances of the version before out of the table until it is there again, with each person once.
 */
export function oneSecondFactor(): string[] {
  return [
    `drop index ${BY_PERSON}`,
    `delete from people_two_factors where id not in (
      select id from (
        select id, row_number() over (
          partition by user_id order by case when verified = 0 then 1 else 0 end, id desc
        ) as place from people_two_factors
      ) as placed where place = 1
    )`,
    `create unique index ${BY_PERSON} on people_two_factors (user_id)`,
  ];
}
