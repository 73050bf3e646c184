"""Pairs of statements, the second of which makes the first out of date, with a question each."""

from __future__ import annotations

from typing import NamedTuple


class Update(NamedTuple):
    question: str
    older: str
    newer: str


_TABLE = """
Where do I live?
I live in a small flat in Lisbon, close to the river.
We finished the move, so now I live in Porto.

Where do I work?
I work at a bakery on Mill Street, mostly early shifts.
New badge today: I work for the city library now.

What is my job title?
My job title is junior analyst, which mostly means spreadsheets.
They changed my job title to team lead last Friday, with a small raise.

How long does my commute take?
My commute takes 50 minutes each way because of the ferry.
Since the tram opened my commute takes only 20 minutes.

What is my best time for the 10k run?
My best time for the 10k is 58 minutes, set at the harbour run.
I can't believe it: 54 minutes on the 10k today, a new best time!

How many cats do I have?
I have two cats, Miso and Bean, who hate the vacuum cleaner.
We adopted another one, so I have three cats now.

What time is my yoga class?
My yoga class is on Tuesday at seven in the evening.
They moved the yoga class to Thursday at half past six.

What is my phone number?
My phone number ends in 4471 in case you need it.
I had to change my phone number, it ends in 9023 from now on.

Which car do I drive?
I drive an old blue Fiat that my aunt gave me.
Sold the Fiat. I drive a small electric Renault now.

What is my wifi password hint?
The wifi password hint is the name of my first dog.
I reset the router; the wifi password hint is the street I grew up on.

Who is my manager?
My manager is Helena, she is strict but fair.
Helena left, so my manager is Tomas since Monday.

When is my flight to Oslo?
My flight to Oslo is on 12 March at 9 in the morning.
The airline rebooked me: the flight to Oslo is on 14 March now, in the afternoon.

What is the budget for the kitchen renovation?
We set the budget for the kitchen renovation at 8,000 euros.
After the plumber's visit we raised the kitchen renovation budget to 11,500.

What medication do I take for blood pressure?
For my blood pressure I take amlodipine, 5 mg in the morning.
The doctor switched my blood pressure medication to ramipril.

How often do I go swimming?
I go swimming once a week with Rosa.
My back is better when I move, so I go swimming three times a week now.

What is my favourite restaurant?
My favourite restaurant is the little Thai place on the corner.
I think I have a new favourite restaurant: the Georgian one by the station.

What language am I learning?
I'm learning Spanish with an app every night before sleep.
I gave up on Spanish and I'm learning Italian, for the wedding.

Who is my landlord?
My landlord is Mr Okafor, he lives downstairs.
The house was sold, the landlord is a company called Brickway now.

How much do I pay in rent?
I pay 940 a month in rent, heating included.
The rent goes up, I'll pay 1,010 from May.

What book am I reading?
I'm reading a book about the history of salt.
Finished that one; I'm reading a detective book set in Naples now.

Where did I put the spare key?
The spare key is under the third flower pot.
I moved the spare key to the drawer in the hall.

What is my daughter's school?
My daughter goes to the school in Elm Road.
My daughter changed to the Riverside school after the holidays.

How many people come to the party?
So far 14 people come to the party.
Update on the party: 19 people said they will come.

Which gym do I go to?
I go to the gym at the mall since it's cheap.
I cancelled the mall one and go to the gym next to the office.

When is the deadline for the grant application?
The deadline for the grant application is 30 June.
Good news, the grant application deadline was extended to 15 July.

What do I drink in the morning?
In the morning I always drink two strong coffees.
I stopped with coffee; in the morning I drink green tea.

What is my weight?
My weight is 82 kilos, a bit more than I'd like.
Stepped on the scale, my weight is down to 78 kilos.

Who cuts my hair?
Giulia cuts my hair, she has a tiny salon near the market.
Giulia retired, so a guy called Ben cuts my hair these days.

What is my bike's lock code?
The code of my bike lock is 7310.
New bike lock, the code is 2295.

How far along is my novel?
My novel has 12 chapters, I'm halfway.
I wrote all weekend and the novel has 17 chapters now.

What is our next team meeting about?
Our next team meeting is about the hiring plan.
They swapped topics: the next team meeting is about the outage.

What do I want for my birthday?
For my birthday I want a film camera.
Forget the camera, for my birthday I want a proper tent.

Which bank do I use?
I use the Sparkasse as my bank since I was a kid.
I closed that account, the bank I use is Triodos.

Who takes care of grandma on Sundays?
On Sundays my brother takes care of grandma.
My brother is abroad, so I take care of grandma on Sundays.

What plant is on my desk?
There is a cactus on my desk, the only plant I can't kill.
The cactus died after all; the plant on my desk is a fern.

What is the name of my therapist?
My therapist's name is Dr. Lind and I see her on Wednesdays.
I changed therapist, his name is Dr. Amadi.

How many pages is my thesis?
My thesis is 64 pages long without the appendix.
After the edits my thesis is down to 57 pages.

What instrument do I play?
I play the trumpet in the town band.
My lip is ruined, so I play the instrument nobody wants, the tuba.

Where do we go on holiday?
We go on holiday to Crete in September.
Change of plans: we go on holiday to Slovenia instead.

What is my dog allergic to?
My dog is allergic to chicken, says the vet.
The new test says the dog is allergic to beef and not to chicken.
"""
UPDATES = [Update(*block.splitlines()) for block in _TABLE.strip().split("\n\n")]

SMALL_TALK = [
    "Good morning, how are you today?",
    "I slept badly, the neighbours had music on until two.",
    "It rained all day here and I stayed in.",
    "Can you help me write a short message to a colleague?",
    "I made soup with everything that was left in the fridge.",
    "The train was late again this morning, the second time this week.",
    "My sister called, we talked for an hour about nothing in particular.",
    "I'm tired, let's talk tomorrow.",
    "What a week. Work was a lot, but the weekend is close.",
    "Thanks, that helped me a lot.",
    "I watched a film about mountain climbers, it was better than expected.",
    "I need to clean the flat before people come over.",
]
REPLIES = [
    "That sounds like a lot. What would help you most right now?",
    "Glad to hear it. Is there anything you want to plan for tomorrow?",
    "I see. Do you want to talk about it, or shall we leave it for now?",
    "Noted. How do you feel about it?",
]
