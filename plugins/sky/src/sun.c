#include <math.h>

#include "sky.h"

/* Where the sun's centre is when its upper edge seems to touch the horizon: refraction of 34', and half its width, 16'. */
#define ZENITH 90.833
#define MINUTES_A_DAY 1440.0

static double degrees(double radians) { return radians * 180 / M_PI; }

/* Chapter 25, low accuracy (0.01 degrees), and chapter 28, Smart's formula for the equation of time. */
void sun_at(double julian_day, double *declination, double *equation_of_time) {
  double t = (julian_day - J2000) / 36525;
  double mean = turned(280.46646 + t * (36000.76983 + t * 0.0003032));
  double anomaly = 357.52911 + t * (35999.05029 - 0.0001537 * t);
  double eccentricity = 0.016708634 - t * (0.000042037 + 0.0000001267 * t);
  double centre = sin_of(anomaly) * (1.914602 - t * (0.004817 + 0.000014 * t)) + sin_of(2 * anomaly) * (0.019993 - 0.000101 * t) +
                  sin_of(3 * anomaly) * 0.000289;
  double node = 125.04 - 1934.136 * t;
  double longitude = mean + centre - 0.00569 - 0.00478 * sin_of(node);
  double obliquity = 23.4392911 - t * (0.0130042 + t * (0.00000016 - t * 0.000000504)) + 0.00256 * cos_of(node);
  *declination = degrees(asin(sin_of(obliquity) * sin_of(longitude)));
  double y = tan(obliquity * M_PI / 360);
  y *= y;
  double angle = y * sin_of(2 * mean) - 2 * eccentricity * sin_of(anomaly) + 4 * eccentricity * y * sin_of(anomaly) * cos_of(2 * mean) -
                 0.5 * y * y * sin_of(4 * mean) - 1.25 * eccentricity * eccentricity * sin_of(2 * anomaly);
  *equation_of_time = 4 * degrees(angle);
}

/* When the sun is so many degrees of hour angle past the south, near the moment `about` of the day of a local mean noon. */
static double when(double about, double mean_noon, double hour_angle) {
  double declination, equation;
  sun_at(about + delta_t(about), &declination, &equation);
  return mean_noon + (4 * hour_angle - equation) / MINUTES_A_DAY;
}

/* False: the sun does not come to the horizon that day; `up` says on which side it stays. */
static bool hour_angle_at(double about, double latitude, double *angle, bool *up) {
  double declination, equation;
  sun_at(about + delta_t(about), &declination, &equation);
  double cosine = cos_of(ZENITH) / (cos_of(latitude) * cos_of(declination)) - tan(latitude * M_PI / 180) * tan(declination * M_PI / 180);
  *up = cosine < -1;
  if (!(cosine >= -1 && cosine <= 1)) return false;
  *angle = degrees(acos(cosine));
  return true;
}

sun_day sun_on(double midnight, double latitude, double longitude) {
  /* The poles have no hour angle. */
  latitude = fmax(-89.99, fmin(89.99, latitude));
  sun_day day = {.rises = true};
  double declination, equation;
  /* Local mean noon of the civil day: between 0 and 24 hours after its midnight. */
  double mean_noon = floor(midnight) + 1 - longitude / 360;
  while (mean_noon < midnight) mean_noon++;
  while (mean_noon >= midnight + 1) mean_noon--;
  sun_at(mean_noon + delta_t(mean_noon), &declination, &equation);
  day.noon = mean_noon - equation / MINUTES_A_DAY;
  day.rise = day.set = day.noon;
  /* The declination at the moment itself: two rounds are good to a second. */
  for (int round = 0; round < 3; round++) {
    double rise, set;
    if (!hour_angle_at(day.rise, latitude, &rise, &day.up) || !hour_angle_at(day.set, latitude, &set, &day.up)) {
      day.rises = false;
      return day;
    }
    day.rise = when(day.rise, mean_noon, -rise);
    day.set = when(day.set, mean_noon, set);
  }
  return day;
}
