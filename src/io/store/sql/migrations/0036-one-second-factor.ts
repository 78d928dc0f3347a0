const BY_PERSON = "people_two_factors_by_person";

/**
 * Earlier versions could store two second factors of one person when two were added concurrently. A verified one is kept before
 * unverified ones, and then the newest: ids sort by time. Dropping the index first locks the table until the unique index
 * exists, so instances of the previous version cannot write in between.
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
