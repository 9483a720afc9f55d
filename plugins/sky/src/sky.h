/*
 * Where sun and moon are. Angles are degrees, longitude is positive to the east, times are days.
 *
 * Two scales of time: a Julian day in UTC is what clocks say; formulas for sun and moon run in Terrestrial Time, which was ahead of it by
 * 69 s in 2024 (`delta_t`). Source of the formulas: Jean Meeus, Astronomical Algorithms, 2nd edition 1998, by chapter where they stand; of
 * sunrise: the Solar Calculator of NOAA's Global Monitoring Laboratory, which takes the sun from the same book.
 * Good to two minutes for phases and three for sunrise, in the years 1901 to 2099, between the polar circles.
 */
#ifndef SKY_H
#define SKY_H

#include <stdbool.h>

/* Noon of 1 January 2000, and midnight of 1 January 1970. */
#define J2000 2451545.0
#define UNIX_EPOCH 2440587.5

/* Terrestrial Time less UTC, in days. Espenak and Meeus, Five Millennium Canon of Solar Eclipses (NASA/TP-2006-214141), 2005 to 2050. */
double delta_t(double julian_day);

/* Sine and cosine of degrees. */
double sin_of(double degrees);
double cos_of(double degrees);
/* The same angle, from 0 to 360. */
double turned(double degrees);

/* ---- The moon ---- */

typedef enum quarter { NEW_MOON, FIRST_QUARTER, FULL_MOON, LAST_QUARTER } quarter;

typedef struct phase {
  quarter quarter;
  double at; /* Julian day, UTC */
} phase;

/* The first of the four phases after a Julian day in UTC. */
phase next_phase(double julian_day);
/* The lit part of the moon's disc, from 0 to 1. */
double lit(double julian_day);
/* The moment of one phase as Julian day in Terrestrial Time; lunation 0 is the new moon of 6 January 2000. */
double phase_moment(int lunation, quarter quarter);

/* ---- The sun ---- */

/* Declination in degrees and equation of time in minutes, for a Julian day in Terrestrial Time. */
void sun_at(double julian_day, double *declination, double *equation_of_time);

typedef struct sun_day {
  bool rises;                 /* else: up all day or not at all */
  bool up;                    /* if it does not rise: whether it is up */
  double rise, noon, set;     /* Julian days, UTC */
} sun_day;

/* One day at a place: `midnight` is the Julian day in UTC at which its civil day begins. */
sun_day sun_on(double midnight, double latitude, double longitude);

#endif
