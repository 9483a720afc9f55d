#include <math.h>

#include "sky.h"

#define LUNATION 29.530588861 /* days, mean */
#define CENTURY 36525.0

double sin_of(double degrees) { return sin(degrees * M_PI / 180); }
double cos_of(double degrees) { return cos(degrees * M_PI / 180); }
double turned(double degrees) { return degrees - 360 * floor(degrees / 360); }

double delta_t(double julian_day) {
  double years = (julian_day - J2000) / 365.25;
  return (62.92 + 0.32217 * years + 0.005589 * years * years) / 86400;
}

/* One term of a series: how often each argument is in it, and with which coefficient for new moon, full moon and quarters. */
typedef struct term {
  double new_moon, full_moon, at_quarter;
  signed char sun, moon, node; /* M, M', F */
} term;

/* Chapter 49, the tables of corrections down to 0.00015 days. A term with the sun's anomaly is multiplied by E, for each time it has it. */
static const term terms[] = {
    {-0.40720, -0.40614, -0.62801, 0, 1, 0},  {0.17241, 0.17302, 0.17172, 1, 0, 0},    {0.01608, 0.01614, 0.00862, 0, 2, 0},
    {0.01039, 0.01043, 0.00804, 0, 0, 2},     {0.00739, 0.00734, 0.00454, -1, 1, 0},   {-0.00514, -0.00515, -0.01183, 1, 1, 0},
    {0.00208, 0.00209, 0.00204, 2, 0, 0},     {-0.00111, -0.00111, -0.00180, 0, 1, -2}, {-0.00057, -0.00057, -0.00070, 0, 1, 2},
    {0.00056, 0.00056, 0.00027, 1, 2, 0},     {-0.00042, -0.00042, -0.00040, 0, 3, 0}, {0.00042, 0.00042, 0.00032, 1, 0, 2},
    {0.00038, 0.00038, 0.00032, 1, 0, -2},    {-0.00024, -0.00024, -0.00034, -1, 2, 0}, {0, 0, -0.00028, 2, 1, 0},
};

/* Chapter 49, the additional corrections by the planets: amplitude, angle at lunation 0, degrees a lunation. */
static const double planets[][3] = {
    {0.000325, 299.77, 0.107408},  {0.000165, 251.88, 0.016321},  {0.000164, 251.83, 26.651886}, {0.000126, 349.42, 36.412478},
    {0.000110, 84.66, 18.206239},  {0.000062, 141.74, 53.303771}, {0.000060, 207.14, 2.453732},  {0.000056, 154.84, 7.306860},
    {0.000047, 34.52, 27.261239},  {0.000042, 207.19, 0.121824},  {0.000040, 291.34, 1.844379},  {0.000037, 161.72, 24.198154},
    {0.000035, 239.56, 25.513099}, {0.000023, 331.55, 3.592518},
};

double phase_moment(int lunation, quarter quarter) {
  double k = lunation + quarter / 4.0;
  double t = k / 1236.85, t2 = t * t, t3 = t2 * t;
  double e = 1 - 0.002516 * t - 0.0000074 * t2;
  double sun = 2.5534 + 29.10535670 * k - 0.0000014 * t2;
  double moon = 201.5643 + 385.81693528 * k + 0.0107582 * t2 + 0.00001238 * t3;
  double node = 160.7108 + 390.67050284 * k - 0.0016118 * t2 - 0.00000227 * t3;
  double ascending = 124.7746 - 1.56375588 * k + 0.0020672 * t2 + 0.00000215 * t3;
  double moment = 2451550.09766 + LUNATION * k + 0.00015437 * t2 - 0.000000150 * t3;
  bool half = quarter == FIRST_QUARTER || quarter == LAST_QUARTER;
  for (unsigned i = 0; i < sizeof terms / sizeof *terms; i++) {
    const term *term = &terms[i];
    double amplitude = half ? term->at_quarter : quarter == NEW_MOON ? term->new_moon : term->full_moon;
    for (int times = term->sun < 0 ? -term->sun : term->sun; times > 0; times--) amplitude *= e;
    moment += amplitude * sin_of(term->sun * sun + term->moon * moon + term->node * node);
  }
  moment -= 0.00017 * sin_of(ascending);
  if (half) {
    double w = 0.00306 - 0.00038 * e * cos_of(sun) + 0.00026 * cos_of(moon) - 0.00002 * cos_of(moon - sun) + 0.00002 * cos_of(moon + sun) +
               0.00002 * cos_of(2 * node);
    moment += quarter == FIRST_QUARTER ? w : -w;
  }
  for (unsigned i = 0; i < sizeof planets / sizeof *planets; i++) {
    double square = i == 0 ? -0.009173 * t2 : 0;
    moment += planets[i][0] * sin_of(planets[i][1] + planets[i][2] * k + square);
  }
  return moment;
}

phase next_phase(double julian_day) {
  /* A phase is at most 15 hours from its mean moment, so the search begins one lunation early. */
  int lunation = (int)floor((julian_day - 2451550.09766) / LUNATION) - 1;
  for (;; lunation++)
    for (int quarter = NEW_MOON; quarter <= LAST_QUARTER; quarter++) {
      double moment = phase_moment(lunation, quarter);
      moment -= delta_t(moment);
      if (moment > julian_day) return (phase){quarter, moment};
    }
}

/* Chapter 48, formula 48.4: the angle between sun and earth as seen from the moon, to 0.4 degrees. */
double lit(double julian_day) {
  double t = (julian_day + delta_t(julian_day) - J2000) / CENTURY;
  double elongation = 297.8501921 + 445267.1114034 * t - 0.0018819 * t * t;
  double sun = 357.5291092 + 35999.0502909 * t - 0.0001536 * t * t;
  double moon = 134.9633964 + 477198.8675055 * t + 0.0087414 * t * t;
  double angle = 180 - elongation - 6.289 * sin_of(moon) + 2.100 * sin_of(sun) - 1.274 * sin_of(2 * elongation - moon) -
                 0.658 * sin_of(2 * elongation) - 0.214 * sin_of(2 * moon) - 0.110 * sin_of(elongation);
  return (1 + cos_of(angle)) / 2;
}
