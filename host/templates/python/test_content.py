import unittest

import content


class Content(unittest.TestCase):
    def test_a_greeting_has_the_name_in_it(self):
        self.assertEqual(content.greeting("Ada"), "Hello, Ada!")

    def test_seconds_are_counted(self):
        seconds = content.Seconds()
        self.assertEqual(seconds.text(), "0 seconds")
        seconds.tick()
        self.assertEqual(seconds.text(), "1 second")
